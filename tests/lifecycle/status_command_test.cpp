#include <simdjson.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/json_member.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

// Without the spaces that align columns.
std::string squeezed(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if (c != ' ' || all.empty() || all.back() != ' ') all += c;
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(status_reports_what_redis_and_the_scoreboards_hold) {
  RedisServer redis;
  const TemporaryDirectory runtime;
  run_brood({"enqueue", "--redis", redis.url(), "Zip", "-q", "images"});
  run_brood({"enqueue", "--redis", redis.url(), "Zip", "--in", "10m"});
  redis.command({"SADD", "queues", "broken", "gone"});
  redis.command({"SET", "queue:broken", "no list"});
  redis.command({"SET", "stat:processed", "12"});
  redis.command({"SET", "stat:failed", "3"});
  redis.command({"ZADD", "dead", "1", "not even json"});
  redis.command({"SADD", "processes", "h:1:abc", "expired:2:def", "broken:3:ghi"});
  redis.command(
      {"HSET", "h:1:abc", "info",
       R"({"hostname":"h","started_at":1e3,"pid":1,"tag":"t<","concurrency":4,"queues":["a","b"],"labels":["l"],"version":"8.1.7"})",
       "busy", "2", "beat", "inf", "quiet", "true", "rss", "2048", "rtt_us", "x", "concurrency", "4"});
  redis.command({"HSET", "broken:3:ghi", "info", "{", "busy", "2"});
  const Identity self = Identity::of_this_process();
  Scoreboard scoreboard = Scoreboard::create(runtime.path(), self.name, 4);
  SlotRecord& record = scoreboard.slot(2);
  record.pid = getpid();
  record.start_time = process_start_time(getpid());
  record.ready = 1;
  record.current = -1;
  WorkerSlot worker(record);
  worker.adopt_incarnation(7);
  worker.set_number(1);
  worker.set_queue("images");
  worker.set_fetched(1);
  BOOST_TEST_REQUIRE(worker.begin(0, "b4a577edbccf1d805744efa9", "Zip\x1b[31m", wall_now(), steady_now(), 0));
  runtime.write("rubbish.scoreboard", "not one");

  const CommandResult result =
      run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});

  BOOST_TEST(result.status == 0);
  simdjson::dom::parser parser;
  const simdjson::dom::element status = parser.parse(result.output);
  BOOST_TEST(status["processed"].get_int64().value() == 12);
  BOOST_TEST(status["failed"].get_int64().value() == 3);
  BOOST_TEST(status["enqueued"].get_int64().value() == 1);
  BOOST_TEST(status["scheduled"].get_int64().value() == 1);
  BOOST_TEST(status["retries"].get_int64().value() == 0);
  BOOST_TEST(status["dead"].get_int64().value() == 1);
  BOOST_TEST(status["error"].is_null());

  BOOST_TEST_REQUIRE(status["processes"].get_array().size() == 1u);
  const simdjson::dom::element process = status["processes"].at(0);
  BOOST_TEST(std::string(process["identity"]) == "h:1:abc");
  BOOST_TEST(simdjson::minify(process["queues"]) == R"(["a","b"])");
  BOOST_TEST(process["concurrency"].get_int64().value() == 4);
  BOOST_TEST(process["busy"].get_int64().value() == 2);
  BOOST_TEST(process["quiet"].get_bool().value());
  BOOST_TEST(process["rtt_us"].get_int64().value() == 0);

  BOOST_TEST_REQUIRE(status["queues"].get_array().size() == 3u);
  BOOST_TEST(std::string(status["queues"].at(0)["name"]) == "broken");
  BOOST_TEST(status["queues"].at(0)["size"].is_null());
  BOOST_TEST(status["queues"].at(1)["size"].get_int64().value() == 0);
  BOOST_TEST(status["queues"].at(2)["size"].get_int64().value() == 1);
  BOOST_TEST(status["queues"].at(2)["latency"].get_double().value() < 100);

  BOOST_TEST_REQUIRE(status["workers"].get_array().size() == 1u);
  const simdjson::dom::element shown = status["workers"].at(0);
  BOOST_TEST(shown["slot"].get_int64().value() == 2);
  BOOST_TEST(shown["pid"].get_int64().value() == getpid());
  BOOST_TEST(std::string(shown["state"]) == "busy");
  BOOST_TEST(std::string(shown["job"]["class"]) == "Zip\x1b[31m");
  BOOST_TEST(std::string(shown["job"]["jid"]) == "b4a577edbccf1d805744efa9");
  BOOST_TEST(std::string(shown["job"]["queue"]) == "images");
  BOOST_TEST(shown["job"]["age"].get_double().value() >= 0);

  const CommandResult text = run_brood({"status", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  BOOST_TEST(text.status == 0);
  BOOST_TEST(text.output.find("Zip\\x1b[31m") != std::string::npos);
  BOOST_TEST(text.output.find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(status_shows_how_long_a_slot_rests_and_a_job_has_left) {
  RedisServer redis;
  const TemporaryDirectory runtime;
  Scoreboard scoreboard = Scoreboard::create(runtime.path(), Identity::of_this_process().name, 4);
  scoreboard.slot(0).rests_until = (steady_now() + std::chrono::seconds(25)).time_since_epoch().count();
  scoreboard.slot(1).rests_until = (steady_now() - std::chrono::seconds(25)).time_since_epoch().count();
  SlotRecord& record = scoreboard.slot(2);
  record.pid = getpid();
  record.start_time = process_start_time(getpid());
  record.ready = 1;
  WorkerSlot worker(record);
  worker.adopt_incarnation(7);
  worker.set_fetched(1);
  BOOST_TEST_REQUIRE(worker.begin(0, "abc", "Zip", wall_now(), steady_now(), 0));
  worker.set_deadline(steady_now() + std::chrono::seconds(100));

  const CommandResult result =
      run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  simdjson::dom::parser parser;
  const simdjson::dom::element workers = parser.parse(result.output)["workers"];
  BOOST_TEST_REQUIRE(workers.get_array().size() == 2u);
  BOOST_TEST(std::string(workers.at(0)["state"]) == "resting");
  BOOST_TEST(workers.at(0)["pid"].get_int64().value() == 0);
  BOOST_TEST(workers.at(0)["rests_for"].get_double().value() > 10);
  BOOST_TEST(workers.at(0)["rests_for"].get_double().value() <= 25);
  BOOST_TEST(workers.at(0)["rss_kb"].is_null());
  BOOST_TEST(workers.at(0)["cpu_s"].is_null());
  BOOST_TEST(std::string(workers.at(1)["state"]) == "busy");
  BOOST_TEST(workers.at(1)["rests_for"].is_null());
  BOOST_TEST(workers.at(1)["job"]["deadline_in"].get_double().value() > 80);
  BOOST_TEST(workers.at(1)["job"]["deadline_in"].get_double().value() <= 100);

  scoreboard.slot(0).rests_until = (steady_now() + std::chrono::seconds(29)).time_since_epoch().count();
  worker.set_deadline(steady_now() + std::chrono::seconds(99));
  const CommandResult text = run_brood({"status", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  BOOST_TEST(squeezed(text.output).find(" 0 resting 2") != std::string::npos, text.output);
  BOOST_TEST(text.output.find("  1m3") != std::string::npos, text.output);

  worker.set_deadline(steady_now() - std::chrono::seconds(1));
  BOOST_TEST(
      run_brood({"status", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}}).output.find("  over  ") !=
      std::string::npos);
  worker.set_deadline(std::nullopt);
  BOOST_TEST(run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}})
                 .output.find("\"deadline_in\":null") != std::string::npos);
}

// Alerts rely on these figures.
BOOST_AUTO_TEST_CASE(counts_that_cannot_be_are_not_told_since_a_job_has_written_over_them) {
  const std::uint64_t text = 0x6c65'7220'656c'6966;
  RedisServer redis;
  const TemporaryDirectory runtime;
  Scoreboard board = Scoreboard::create(runtime.path(), Identity::of_this_process().name, 1);
  const auto told = [&] {
    return run_brood({"status", "--format", "prometheus", "--redis", redis.url()},
                     {{"RUNTIME_DIRECTORY", runtime.path()}})
        .output;
  };
  const auto has_value = [](const std::string& metrics, const std::string& name, const std::string& value) {
    const std::size_t at = metrics.find("\n" + name + "{");
    if (at == metrics.npos) return false;
    const std::size_t end = metrics.find('\n', at + 1);
    return metrics.substr(at, end - at).ends_with("} " + value);
  };
  UsageTable& usage = board.usage();
  UsageEntry& zip = usage.at(usage_index(usage, "Zip"));
  add_crash(zip, {}, 1, crash_way("SIGSEGV"));
  QueueEntry& images = usage.queues.at(queue_index(usage.queues, "images"));
  QueueRuns runs;
  runs.took.add(1);
  add_queue_runs(images, runs);
  usage.died = usage.spans.overflown = 3;
  const std::string before = told();
  BOOST_TEST(has_value(before, "brood_class_crashes_total", "1"), before);
  BOOST_TEST(before.find("\nbrood_queue_wait_seconds_bucket{") != before.npos);
  BOOST_TEST(has_value(before, "brood_jobs_died_total", "3"));

  zip.crashed_by[0] = 2'000;
  images.waited.buckets[0] = 2'000;
  usage.died = usage.spans.unwritten = board.slot(0).died = text;
  const std::string after = told();
  BOOST_TEST(after.find("\nbrood_class_crashes_total{") == after.npos, after);
  BOOST_TEST(after.find("\nbrood_queue_wait_seconds_bucket{") == after.npos);
  BOOST_TEST(has_value(after, "brood_jobs_died_total", "0"));
  BOOST_TEST(has_value(after, "brood_spans_dropped_total", "0"));
}

BOOST_AUTO_TEST_CASE(no_job_has_run_for_longer_than_its_worker) {
  RedisServer redis;
  const TemporaryDirectory runtime;
  Scoreboard board = Scoreboard::create(runtime.path(), Identity::of_this_process().name, 1);
  SlotRecord& record = board.slot(0);
  record.pid = getpid();
  record.start_time = process_start_time(getpid());
  record.ready = 1;
  record.spawned_at = (steady_now() - std::chrono::seconds(20)).time_since_epoch().count();
  WorkerSlot worker(record);
  worker.adopt_incarnation(7);
  worker.set_fetched(1);
  BOOST_TEST_REQUIRE(worker.begin(0, "abc", "Zip", wall_now(), steady_now(), 0));
  record.started_at = record.started_steady = 1;
  const CommandResult result =
      run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  simdjson::dom::parser parser;
  const double age = parser.parse(result.output)["workers"].at(0)["job"]["age"].get_double();
  BOOST_TEST(age >= 20);
  BOOST_TEST(age < 600);
}

BOOST_AUTO_TEST_CASE(a_worker_that_runs_is_shown_as_one_whatever_a_job_has_written_there) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const auto is_idle = [&] {
    return run_brood({"status", "--json", "--redis", redis.url()}, brood.environment())
               .output.find("\"state\":\"idle\"") != std::string::npos;
  };
  BOOST_REQUIRE(eventually(is_idle));
  for (const auto& entry : std::filesystem::directory_iterator(brood.home() / "run")) {
    if (entry.path().extension() != ".scoreboard") continue;
    Scoreboard board = Scoreboard::open(entry.path(), true);
    board.slot(0).ready = 0;
    board.slot(0).spawned_at = 0;
    BOOST_TEST(eventually([&] { return board.slot(0).ready.load() == 1 && board.slot(0).spawned_at.load() > 0; },
                          std::chrono::seconds(30)));
  }
  BOOST_TEST(eventually(is_idle));
}

// A job can make any number of files in the runtime directory.
BOOST_AUTO_TEST_CASE(status_shows_a_supervisor_among_however_many_files_look_like_scoreboards) {
  RedisServer redis;
  const TemporaryDirectory runtime;
  // These pids cannot exist.
  for (int i = 0; i < 300; ++i)
    Scoreboard::create(runtime.path(), "a:" + std::to_string(5'000'000 + i) + ":" + std::to_string(i), 1);
  Scoreboard scoreboard = Scoreboard::create(runtime.path(), "b:" + std::to_string(getpid()) + ":abc", 1);
  scoreboard.slot(0).pid = getpid();
  scoreboard.slot(0).start_time = process_start_time(getpid());

  const CommandResult result =
      run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});

  simdjson::dom::parser parser;
  const simdjson::dom::element workers = parser.parse(result.output)["workers"];
  BOOST_TEST_REQUIRE(workers.get_array().size() == 1u);
  BOOST_TEST(workers.at(0)["pid"].get_int64().value() == getpid());
  BOOST_TEST(result.errors.find("45 files more in ") != std::string::npos, result.errors);
}

BOOST_AUTO_TEST_CASE(status_sums_what_the_job_classes_of_all_supervisors_used) {
  using namespace std::chrono_literals;
  RedisServer redis;
  const TemporaryDirectory runtime;
  for (const std::string nonce : {"aaaaaaaaaaaa", "bbbbbbbbbbbb"}) {
    Scoreboard scoreboard = Scoreboard::create(runtime.path(), "host:1:" + nonce, 1);
    add_runs(scoreboard.usage().at(usage_index(scoreboard.usage(), "Zip")),
             {.cpu = 250ms, .wall = 2s, .peak_rss_kb = nonce[0] == 'a' ? 4096u : 1024u},
             {.ended_well = 1, .waited = {}});
    add_crash(scoreboard.usage().at(usage_index(scoreboard.usage(), "Bang")),
              {.cpu = 10ms, .wall = 20ms, .peak_rss_kb = 5});
  }
  const CommandResult result =
      run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  simdjson::dom::parser parser;
  const simdjson::dom::element classes = parser.parse(result.output)["classes"];
  BOOST_TEST_REQUIRE(classes.get_array().size() == 2u);
  BOOST_TEST(std::string(classes.at(0)["name"]) == "Bang");
  BOOST_TEST(classes.at(0)["crashed"].get_int64().value() == 2);
  BOOST_TEST(std::string(classes.at(1)["name"]) == "Zip");
  BOOST_TEST(classes.at(1)["runs"].get_int64().value() == 2);
  BOOST_TEST(classes.at(1)["failed"].get_int64().value() == 0);
  BOOST_TEST(classes.at(1)["cpu_s"].get_double().value() == 0.5);
  BOOST_TEST(classes.at(1)["wall_s"].get_double().value() == 4.0);
  BOOST_TEST(classes.at(1)["peak_rss_kb"].get_int64().value() == 4096);
  const CommandResult text = run_brood({"status", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  BOOST_TEST(text.output.find("Job classes of this machine\n") != std::string::npos, text.output);
}

BOOST_AUTO_TEST_CASE(status_shows_crashes_by_fingerprint_and_the_last_with_its_stack) {
  RedisServer redis;
  Connection connection(redis.address(), {}, "test");
  const double now = epoch_seconds(wall_now());
  Crash old{.fingerprint = "00000000000000aa",
            .at = now - 7200,
            .job_class = "Zip",
            .error_class = "SIGABRT",
            .message = "SIGABRT in Zip",
            .jid = "abc",
            .queue = "default",
            .identity = "h:1:abc",
            .frames = {"#0 zip() at zip.cpp:1 (libjobs.so+0x1)"},
            .has_names = true};
  Crash latest{.fingerprint = "00000000000000bb",
               .at = now - 60,
               .job_class = "Resize\x1b[31m",
               .error_class = "SIGSEGV",
               .message = "SIGSEGV (SEGV_MAPERR) at 0x10 in Resize",
               .jid = "def",
               .queue = "images",
               .identity = "h:1:abc",
               .frames = {},
               .has_names = true};
  for (int i = 0; i < 20; ++i) latest.frames.push_back("#" + std::to_string(i) + " frame" + std::to_string(i) + "()");
  for (const Crash& crash : {old, latest, latest}) note_crash(connection, crash);
  const auto status = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"status", "--redis", redis.url()});
    const TemporaryDirectory runtime;
    return run_brood(arguments, {{"RUNTIME_DIRECTORY", runtime.path()}});
  };

  simdjson::dom::parser parser;
  const simdjson::dom::element crashes = parser.parse(status({"--json"}).output)["crashes"];
  BOOST_TEST_REQUIRE(crashes.get_array().size() == 2u);
  BOOST_TEST(std::string(crashes.at(0)["fingerprint"]) == latest.fingerprint);
  BOOST_TEST(crashes.at(0)["count"].get_int64().value() == 2);
  BOOST_TEST(std::string(crashes.at(0)["class"]) == latest.job_class);
  BOOST_TEST(std::string(crashes.at(0)["error_class"]) == "SIGSEGV");
  BOOST_TEST(std::string(crashes.at(0)["message"]) == latest.message);
  BOOST_TEST(std::string(crashes.at(0)["jid"]) == "def");
  BOOST_TEST(std::string(crashes.at(0)["queue"]) == "images");
  BOOST_TEST(crashes.at(0)["frames"].get_array().size() == 20u);
  BOOST_TEST(std::string(crashes.at(1)["fingerprint"]) == old.fingerprint);

  const std::string text = status({}).output;
  BOOST_TEST(squeezed(text).find(" SIGSEGV frame0() 1m ago 00000000000000bb\n") != std::string::npos, text);
  BOOST_TEST(squeezed(text).find(" SIGABRT zip() at zip.cpp:1 (libjobs.so+0x1) 2h ago 0000") != std::string::npos,
             text);
  const std::string last = text.substr(text.find("\nLast crash\n"));
  BOOST_TEST(last.find(latest.message) != std::string::npos);
  BOOST_TEST(last.find("frame12()") != std::string::npos);
  BOOST_TEST(last.find("frame13()") == std::string::npos);
  BOOST_TEST(last.find("brood status --crash 00000000000000bb shows it in full") != std::string::npos);
  BOOST_TEST(text.find('\x1b') == std::string::npos);

  const CommandResult one = status({"--crash", "00000000000000b"});
  BOOST_TEST(one.status == 0);
  BOOST_TEST(one.output.find("frame19()") != std::string::npos);
  BOOST_TEST(one.output.find("2 times") != std::string::npos);
  BOOST_TEST(one.output.find("zip.cpp") == std::string::npos);
  BOOST_TEST(member(status({"--crash", "00000000000000aa", "--json"}).output, "class") == "\"Zip\"");
  BOOST_TEST(status({"--crash", "ff"}).status == 64);

  // One bad key does not hide anything else.
  for (const std::string& key : redis.keys("brood:crash*")) redis.command({"DEL", key});
  for (const char* key :
       {"brood:crashes", "brood:crash_times", "brood:crash_counts", "brood:crash_days", "brood:crash_stacks"})
    redis.command({"SET", key, "of another type"});
  BOOST_TEST(status({}).errors.find("no process performs jobs of this Redis") != std::string::npos);
  BOOST_TEST(member(status({"--json"}).output, "crashes") == "[]");
}
