#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "shared/base/shard_of_key.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/json/json_object.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/ticks.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Its jobs stay in a queue that no worker serves.
std::string every_second(const std::string& more = "") {
  return "[periodic.tick]\ncron = \"* * * * * *\"\nclass = \"Tick\"\nqueue = \"ticks\"\nargs = [1, \"two\"]\n" + more;
}

CommandResult ask(RedisServer& redis, std::vector<std::string> words) {
  words.insert(words.begin(), "periodic");
  words.insert(words.end(), {"--redis", redis.url()});
  return run_brood(words);
}

const std::string library = BROOD_BINARY_DIR "/tests/job_libraries/libperiodic_jobs.so";

std::string state_of(const std::string& name) { return "brood:periodic:job:" + name; }

BroodOptions with_config(const std::string& config) { return {.workers = 1, .config = config}; }

}  // namespace

BOOST_AUTO_TEST_CASE(each_tick_pushes_one_job_whichever_of_two_supervisors_it_is) {
  RedisServer redis;
  const std::string config = every_second("catch_up = \"all\"\n");  // in case both stand still for a second
  BroodProcess one(redis, with_config(config)), other(redis, with_config(config));
  BOOST_REQUIRE_MESSAGE(one.wait_ready() && other.wait_ready(), one.log_tail());

  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= 4; }), one.log_tail());

  BOOST_TEST(are_all_seconds(ticks_in(redis)));
  const JsonObject job = JsonObject::parse(redis.lrange("queue:ticks").front());
  BOOST_TEST(job.string("class").value() == "Tick");
  BOOST_TEST(job.raw("args").value() == "[1,\"two\"]");
  BOOST_TEST(job.string("periodic").value() == "tick");
  BOOST_TEST(job.string("jid").value().size() == 24u);
  BOOST_TEST(redis.smembers("queues") == std::vector<std::string>{"ticks"}, boost::test_tools::per_element());
}

// Sidekiq 6 and 7 would read milliseconds as a date in tens of thousands of years.
BOOST_AUTO_TEST_CASE(what_brood_pushes_by_itself_has_times_that_the_oldest_sidekiq_of_the_fleet_reads) {
  const std::string config = "[periodic]\nsidekiq_cron = true\n" + every_second();
  const std::string in_seconds = "[compatibility]\ntimestamps = \"seconds\"\n";
  const auto times = [](const std::string& payload) {
    const JsonObject job = JsonObject::parse(payload);
    std::string units;
    for (const char* const key : {"created_at", "enqueued_at"})
      units += is_json_integer(job.raw(key).value_or("0")) ? 'i' : 'f';
    return units;
  };
  const auto pushed = [&](const std::string& release, const std::string& said) {
    RedisServer redis;
    if (!release.empty()) {
      redis.command({"SADD", "processes", "ruby:1:a"});
      redis.command({"HSET", "ruby:1:a", "info", "{\"version\":\"" + release + "\"}", "busy", "0"});
    }
    redis.command({"SADD", "cron_jobs:default", "cron_job:default:gem"});
    redis.command({"HSET", "cron_job:default:gem", "status", "enabled", "cron", "* * * * * *", "klass", "Gem",
                   "message", R"({"queue":"gem","class":"Gem"})", "args", "[]"});
    redis.command({"ZADD", "schedule", "1", R"({"class":"Due","args":[],"queue":"due"})"});
    const BroodProcess brood(redis, with_config(said + config));
    const auto first = [&](const std::string& queue) {
      BOOST_TEST_REQUIRE(eventually([&] { return redis.size_of("queue:" + queue) >= 1; }), brood.log_tail());
      return times(redis.lrange("queue:" + queue).back());
    };
    std::string all = first("ticks") + " " + first("gem") + " " + first("due");
    const TemporaryDirectory directory;
    const std::string path = directory / "brood.toml";
    std::ofstream(path) << said;
    redis.command({"HSET", state_of("tick"), "paused", "1"});
    redis.command({"DEL", "queue:ticks"});
    BOOST_TEST(ask(redis, {"run", "tick", "-C", path}).status == 0);
    for (const std::string& payload : redis.lrange("queue:ticks")) {
      if (!JsonObject::parse(payload).raw("periodic_tick")) all += " " + times(payload);
    }
    redis.command({"ZADD", "dead", "1", R"({"class":"Dead","args":[],"queue":"dead","jid":"d"})"});
    BOOST_TEST(run_brood({"dead", "run", "d", "--yes", "-C", path, "--redis", redis.url()}).status == 0);
    return all + " " + first("dead");
  };
  BOOST_TEST(pushed("", "") == "ff ff ff ff ff");  // all releases read these
  BOOST_TEST(pushed("8.0.1", "") == "ii ii ii ii ii");
  BOOST_TEST(pushed("7.3.2", "") == "ff ff ff ff ff");
  BOOST_TEST(pushed("8.0.1", in_seconds) == "ff ff ff ff ff");
}

BOOST_AUTO_TEST_CASE(schedules_of_sidekiq_cron_are_served_in_every_namespace_and_listed) {
  RedisServer redis;
  const auto schedule = [&](const std::string& name_space, const std::string& name, const std::string& cron) {
    const std::string key = "cron_job:" + name_space + ":" + name;
    redis.command({"SADD", "cron_jobs:" + name_space, key});
    redis.command({"HSET", key, "status", "enabled", "cron", cron, "klass", "Gem", "args", "[1]", "message",
                   "{\"queue\":\"" + name_space + "\",\"class\":\"Gem\"}"});
  };
  schedule("default", "here", "* * * * * *");
  schedule("billing", "there", "* * * * * * +09:00");
  schedule("billing", "second-monday", "0 3 * * mon#2");
  schedule("billing", "words", "every day at noon");
  redis.command({"SET", "cron_jobs:no set", "a text"});
  const std::string config = "[periodic]\nsidekiq_cron = true\n";
  const BroodProcess brood(redis, with_config(config));
  for (const char* queue : {"queue:default", "queue:billing"})
    BOOST_TEST(eventually([&] { return redis.size_of(queue) >= 1; }), brood.log_tail());
  BOOST_TEST(eventually([&] { return brood.log().find("name=cron_job:billing:words") != std::string::npos; }));

  const TemporaryDirectory directory;
  const std::string path = directory / "brood.toml";
  std::ofstream(path) << config;
  const std::string listed = ask(redis, {"list", "--json", "-C", path}).output;
  for (const char* part : {R"("name":"cron_job:default:here")",
                           R"("name":"cron_job:billing:there","cron":"* * * * * * +09:00","class":"Gem")",
                           R"("source":"sidekiq-cron")", R"("tz":"+09:00")"})
    BOOST_TEST(listed.find(part) != std::string::npos, listed);
  const std::string table = ask(redis, {"list", "-C", path}).output;
  BOOST_TEST(table.find("cron_job:billing:second-monday") != std::string::npos, table);
  BOOST_TEST(table.find("not served") != std::string::npos, table);                          // the rule in words
  BOOST_TEST(ask(redis, {"list", "--json"}).output.find("cron_job:") == std::string::npos);  // not asked for

  BOOST_TEST(ask(redis, {"next", "cron_job:billing:second-monday", "-C", path}).output.find(" 03:00:00 +00:00") !=
             std::string::npos);
  const auto paused = ask(redis, {"pause", "cron_job:default:here", "-C", path});
  BOOST_TEST(paused.status == 75);
  BOOST_TEST(paused.errors.find("is a schedule of sidekiq-cron") != std::string::npos, paused.errors);
}

BOOST_AUTO_TEST_CASE(arguments_that_were_typed_are_spelled_as_ruby_does) {
  RedisServer redis;
  const BroodProcess brood(redis, with_config("[periodic.tick]\ncron = \"* * * * * *\"\nclass = \"Tick\"\n"
                                              "queue = \"ticks\"\nargs = '[ 1.50, {\"a\" : \"\\u00e9\"} ]'\n"));
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("queue:ticks") >= 1; }), brood.log_tail());
  BOOST_TEST(JsonObject::parse(redis.lrange("queue:ticks").front()).raw("args").value() == R"([1.5,{"a":"é"}])");
}

BOOST_AUTO_TEST_CASE(without_periodic_jobs_there_is_no_key_of_them) {
  RedisServer redis;
  BroodProcess brood(redis, with_config(""));
  BOOST_REQUIRE(brood.wait_ready());
  BOOST_TEST(eventually([&] { return redis.size_of("processes") == 1; }));
  BOOST_TEST(redis.keys("brood:periodic*").empty());
}

BOOST_AUTO_TEST_CASE(a_job_is_served_where_a_label_of_it_is) {
  RedisServer redis;
  const std::string config =
      "[periodic.there]\ncron = \"* * * * * *\"\nclass = \"A\"\nqueue = \"there\"\nenabled_on = [\"cron\"]\n"
      "[periodic.here]\ncron = \"* * * * * *\"\nclass = \"A\"\nqueue = \"here\"\n";
  const BroodProcess one(redis, with_config(config));
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("queue:here") >= 2; }), one.log_tail());
  BOOST_TEST(redis.size_of("queue:there") == 0u);

  const BroodProcess other(redis, with_config("labels = [\"cron\"]\n" + config));
  BOOST_TEST(eventually([&] { return redis.size_of("queue:there") >= 1; }), other.log_tail());
}

// BROOD_STORM=5 makes it a hundred times.
BOOST_AUTO_TEST_CASE(no_tick_is_lost_or_doubled_when_all_supervisors_are_killed_at_ticks) {
  const char* const storm = std::getenv("BROOD_STORM");
  const int kills = storm ? 20 * std::atoi(storm) : 6;
  RedisServer redis;
  const std::string config = every_second("catch_up = \"all\"\n");
  const auto home = std::make_shared<TemporaryDirectory>(), other_home = std::make_shared<TemporaryDirectory>();
  BroodOptions options = with_config(config), other_options = with_config(config);
  options.home = home;
  other_options.home = other_home;
  BroodProcess one(redis, options), other(redis, other_options);

  for (int kill = 0; kill < kills; ++kill) {
    const std::size_t before = redis.size_of("queue:ticks");
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("queue:ticks") > before; }), one.log_tail());
    // Around the next tick: a little before it, at it, and a little after it.
    const Reply now = redis.command({"TIME"});
    const auto to_next = std::chrono::microseconds(1'000'000 - now.view()[1].integer());
    std::this_thread::sleep_for(to_next + std::chrono::milliseconds(kill % 5 - 1));
    one.signal(SIGKILL);
    other.signal(SIGKILL);
    one.kill9();
    other.kill9();
    one.start();
    other.start();
  }
  const auto last = time_of(redis);
  BOOST_TEST(eventually([&] { return !ticks_in(redis).empty() && ticks_in(redis).back() > last; }), one.log_tail());

  BOOST_TEST(are_all_seconds(ticks_in(redis)));
}

BOOST_AUTO_TEST_CASE(a_tick_that_was_missed_comes_later_unless_it_is_too_old) {
  RedisServer redis;
  while (time_of(redis) % 3600 > 3600 - 60) std::this_thread::sleep_for(1s);  // a full hour would be one tick more
  const auto hour = time_of(redis) / 3600 * 3600;
  for (const char* const name : {"young", "old"})
    redis.command({"HSET", state_of(name), "rule", std::string(name) == "young" ? "0 * * * * UTC" : "* * * * * UTC",
                   "last", std::to_string(hour - 3 * 3600)});
  BroodProcess brood(redis, with_config("[periodic.young]\ncron = \"0 * * * *\"\nclass = \"A\"\nqueue = \"young\"\n"
                                        "[periodic.old]\ncron = \"* * * * *\"\nclass = \"A\"\nqueue = \"old\"\n"
                                        "catch_up = \"last\"\nwithin = \"1ms\"\n"));
  // Refused: `within` must not be below a second.
  BOOST_TEST(brood.wait_exit().value_or(-1) == 78);

  BroodProcess better(redis, with_config("[periodic.young]\ncron = \"0 * * * *\"\nclass = \"A\"\nqueue = \"young\"\n"
                                         "[periodic.old]\ncron = \"* * * * *\"\nclass = \"A\"\nqueue = \"old\"\n"));
  BOOST_REQUIRE_MESSAGE(better.wait_ready(), better.log_tail());

  // The hourly job gets its last tick.  The job of each minute gets only ticks that are at most a minute old.
  BOOST_TEST(eventually([&] { return redis.size_of("queue:young") == 1; }), better.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("queue:old") >= 1; }), better.log_tail());
  BOOST_TEST(redis.hget(state_of("young"), "missed").value_or("0") == "2");
  BOOST_TEST(ticks_in(redis, "queue:old").front() > hour - 120);
  BOOST_TEST(std::stoi(redis.hget(state_of("old"), "missed").value_or("0")) > 100);
  BOOST_TEST(eventually([&] { return better.log().find("event=periodic_ticks_missed") != std::string::npos; }));
}

BOOST_AUTO_TEST_CASE(a_paused_one_goes_on_from_the_moment_at_which_it_is_unpaused) {
  RedisServer redis;
  BroodProcess brood(redis, with_config(every_second("catch_up = \"all\"\n")));
  BOOST_REQUIRE(eventually([&] { return redis.size_of("queue:ticks") >= 1; }));

  BOOST_TEST(ask(redis, {"pause", "tick"}).output == "tick is paused\n");
  const std::vector<std::int64_t> before = ticks_in(redis);
  const auto paused = time_of(redis);
  BOOST_TEST(eventually([&] { return time_of(redis) > paused + 2; }));
  BOOST_TEST(ticks_in(redis) == before, boost::test_tools::per_element());
  BOOST_TEST(ask(redis, {"list", "--json"}).output.find(R"("paused":true)") != std::string::npos);

  const auto unpaused = time_of(redis);
  BOOST_TEST(ask(redis, {"unpause", "tick"}).output == "tick is served\n");
  BOOST_TEST(ask(redis, {"unpause", "tick"}).output == "tick was already served\n");
  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") > before.size(); }), brood.log_tail());
  BOOST_TEST(ticks_in(redis)[before.size()] > unpaused);
}

BOOST_AUTO_TEST_CASE(another_rule_holds_from_the_hangup_on_and_its_ticks_begin_then) {
  RedisServer redis;
  BroodProcess brood(redis, with_config("[periodic.tick]\ncron = \"0 0 1 1 *\"\nclass = \"Tick\"\nqueue = \"ticks\"\n"
                                        "[periodic.gone]\ncron = \"@daily\"\nclass = \"Gone\"\n"));
  BOOST_REQUIRE(eventually([&] { return redis.size_of("brood:periodic") == 2; }));
  const auto before = time_of(redis);

  std::ofstream(brood.home() / "brood.toml") << every_second("catch_up = \"all\"\n");
  brood.signal(SIGHUP);

  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= 2; }), brood.log_tail());
  BOOST_TEST(ticks_in(redis).front() > before);
  BOOST_TEST(are_all_seconds(ticks_in(redis)));
  BOOST_TEST(eventually([&] { return redis.size_of("brood:periodic") == 1; }));
}

BOOST_AUTO_TEST_CASE(each_lives_in_the_shard_that_its_name_chooses) {
  RedisServer a, b;
  const std::vector<std::string> shards{"a", "b"}, names{"one", "two", "three", "four", "five", "six"};
  std::string config = "[redis]\n[[redis.shard]]\nname = \"a\"\nurl = \"" + a.url() +
                       "\"\n[[redis.shard]]\nname = \"b\"\nurl = \"" + b.url() + "\"\n";
  for (const std::string& name : names)
    config += "[periodic." + name + "]\ncron = \"* * * * * *\"\nclass = \"A\"\nqueue = \"" + name + "\"\n";
  BroodProcess brood(with_config(config));

  std::set<std::size_t> used;
  for (const std::string& name : names) {
    const std::size_t chosen = shard_of_key(shards, name);
    RedisServer &home = chosen == 0 ? a : b, &other = chosen == 0 ? b : a;
    BOOST_TEST(eventually([&] { return home.size_of("queue:" + name) >= 1; }), brood.log_tail());
    BOOST_TEST(other.size_of("queue:" + name) == 0u);
    BOOST_TEST(other.size_of(state_of(name)) == 0u);
    used.insert(chosen);
  }
  BOOST_TEST(used.size() == 2u);
}

BOOST_AUTO_TEST_CASE(while_its_job_has_not_ended_a_tick_is_skipped_or_waits) {
  RedisServer redis;
  TemporaryDirectory directory;
  const auto slow = [&](const std::string& name) {
    return "[periodic." + name + "]\ncron = \"* * * * * *\"\nclass = \"Ledger\"\nargs = [\"" + (directory / name) +
           "\", \"x\", 2300]\noverlap = \"" + name + "\"\n";
  };
  BroodOptions options = with_config(slow("skip") + slow("queue"));
  options.workers = 4;
  BroodProcess brood(redis, options);
  const Ledger skips(directory / "skip"), waits(directory / "queue");

  BOOST_TEST(eventually([&] { return skips.runs().size() >= 3 && waits.runs().size() >= 3; }, 20s), brood.log_tail());

  for (const Ledger* const ledger : {&skips, &waits}) {
    const auto runs = ledger->runs();
    for (std::size_t i = 1; i < runs.size(); ++i) BOOST_TEST(runs[i].began >= runs[i - 1].ended.value());
  }
  BOOST_TEST(std::stoi(redis.hget(state_of("skip"), "skipped").value_or("0")) >= 2);
  BOOST_TEST(redis.hget(state_of("queue"), "skipped").value_or("none") == "none");
  BOOST_TEST(eventually([&] { return ask(redis, {"run", "skip"}).status == 75; }));
}

BOOST_AUTO_TEST_CASE(jitter_puts_the_job_into_the_schedule) {
  RedisServer redis;
  BroodProcess brood(redis, with_config(every_second("jitter = \"1h\"\n")));
  BOOST_REQUIRE(eventually([&] { return redis.size_of("schedule") >= 2; }));
  for (const auto& [payload, score] : redis.zrange("schedule")) {
    const auto tick = static_cast<double>(JsonObject::parse(payload).integer("periodic_tick").value());
    BOOST_TEST(score >= tick);
    BOOST_TEST(score <= tick + 3600);
  }
}

BOOST_AUTO_TEST_CASE(a_queue_of_another_type_is_logged_once_and_holds_up_no_other) {
  RedisServer redis;
  redis.command({"SET", "queue:wrong", "x"});
  BroodProcess brood(
      redis,
      with_config(every_second() + "[periodic.wrong]\ncron = \"* * * * * *\"\nclass = \"A\"\nqueue = \"wrong\"\n"));
  // It tries again after five seconds.
  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= 8; }), brood.log_tail());
  const std::string log = brood.log();
  const auto first = log.find("event=periodic_job_fails name=wrong");
  BOOST_TEST(first != std::string::npos);
  BOOST_TEST(log.find("event=periodic_job_fails", first + 1) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(commands_show_and_run_them) {
  RedisServer redis;
  BroodProcess brood(redis, with_config("[periodic.report]\ncron = \"30 3 * * *\"\nclass = \"Report\"\n"
                                        "tz = \"Europe/Berlin\"\nqueue = \"reports\"\nretry = 3\n"));
  BOOST_REQUIRE(eventually([&] { return redis.size_of("brood:periodic") == 1; }));

  const JsonObject listed = JsonObject::parse([&] {
    const std::string array = ask(redis, {"--json"}).output;
    return array.substr(array.find('{'), array.rfind('}') - array.find('{') + 1);
  }());
  BOOST_TEST(listed.string("name").value() == "report");
  BOOST_TEST(listed.string("cron").value() == "30 3 * * *");
  BOOST_TEST(listed.string("class").value() == "Report");
  BOOST_TEST(listed.raw("paused").value() == "false");
  BOOST_TEST(listed.integer("next").value() > time_of(redis));
  BOOST_TEST(listed.raw("last").value() == "null");  // there was none yet

  const std::string next = ask(redis, {"next", "report"}).output;
  BOOST_TEST(next.starts_with("report: 30 3 * * * in Europe/Berlin\n"));
  BOOST_TEST(std::count(next.begin(), next.end(), '\n') == 6);
  BOOST_TEST(next.find(" 03:30:00 +0") != std::string::npos);

  BOOST_TEST(ask(redis, {"run", "report"}).output.starts_with("enqueued Report as "));
  BOOST_TEST(redis.size_of("queue:reports") == 1u);
  BOOST_TEST(JsonObject::parse(redis.lrange("queue:reports")[0]).raw("retry").value() == "3");
  BOOST_TEST(ask(redis, {"history", "report"}).output.find("by hand") != std::string::npos);

  BOOST_TEST(ask(redis, {"next", "nobody"}).status == 75);
  BOOST_TEST(ask(redis, {"run", "nobody"}).status == 75);
  BOOST_TEST(ask(redis, {"pause", "nobody"}).status == 75);
  BOOST_TEST(ask(redis, {"run"}).status == 64);
}

BOOST_AUTO_TEST_CASE(a_job_library_has_periodic_jobs_and_the_configuration_wins) {
  RedisServer redis;
  BroodOptions options =
      with_config("[periodic.both]\ncron = \"* * * * * *\"\nclass = \"Configured\"\nqueue = \"configured\"\n");
  options.libraries = {library};
  BroodProcess brood(redis, options);

  BOOST_TEST(eventually([&] { return redis.size_of("queue:coded") >= 2; }), brood.log_tail());
  BOOST_TEST(are_all_seconds(ticks_in(redis, "queue:coded")));
  const JsonObject job = JsonObject::parse(redis.lrange("queue:coded").front());
  BOOST_TEST(job.string("class").value() == "Coded");
  BOOST_TEST(job.raw("args").value() == R"(["said in \"code\"",7])");
  BOOST_TEST(job.raw("retry").value() == "3");
  BOOST_TEST(job.raw("tags").value() == R"(["by code"])");
  BOOST_TEST(eventually([&] { return redis.size_of("queue:configured") >= 1; }), brood.log_tail());
  BOOST_TEST(redis.size_of("queue:library") == 0u);
  BOOST_TEST(ask(redis, {"next", "elsewhere"}).output.find("-01-01 00:00:00 +01:00") != std::string::npos);
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_rule_of_a_library_that_is_wrong_is_refused_by_the_check_and_said_in_the_log) {
  RedisServer redis;
  const CommandResult check =
      run_brood({"run", "--check", "-r", library, "--redis", redis.url()}, {{"PERIODIC_RULE", "61 * * * *"}});
  BOOST_TEST(check.status == 78);
  BOOST_TEST(check.errors.find("the periodic job coded of a library: the minute \"61\"") != std::string::npos);

  BroodOptions options = with_config("");
  options.libraries = {library};
  options.environment = {{"PERIODIC_RULE", "61 * * * *"}};
  BroodProcess brood(redis, options);
  BOOST_TEST(eventually([&] { return redis.size_of("brood:periodic") == 2; }), brood.log_tail());
  BOOST_TEST(brood.log().find("event=periodic_job_refused name=coded") != std::string::npos);
}

// As a job of the same user could write it.
BOOST_AUTO_TEST_CASE(forged_registrations_are_refused_and_the_supervisor_goes_on) {
  RedisServer redis;
  BroodProcess brood(redis, with_config(every_second()));
  BOOST_REQUIRE(eventually([&] { return redis.size_of("queue:ticks") > 0 && redis.size_of("brood:processes") == 1; }));
  const std::string identity = redis.hgetall("brood:processes").begin()->first;
  std::string lines = "1\n";
  for (const std::string rest :
       {R"("args":["\ud800"])", R"("args":{})", R"("members":[])", R"("members":{"a":"\ud800"})", R"("retry":"\udfff")",
        R"("jitter":9223372036854775807)", R"("jitter":-1)", R"("within":9223372036854775807)"})
    lines += R"({"name":"x","cron":"* * * * * *","class":"C","queue":"other",)" + rest + "}\n";
  const std::string file = registered_periodic_path(brood.environment().at("RUNTIME_DIRECTORY"), identity);
  std::ofstream(file + ".new", std::ios::binary) << lines;
  std::filesystem::rename(file + ".new", file);
  BOOST_TEST(eventually([&] { return times_logged(brood, "periodic_job_refused") == 8; }), brood.log_tail());
  // The ticks go on meanwhile.  A job whose last tick is no time is served from now on.
  redis.command({"HSET", state_of("tick"), "last", "1700000000.5"});
  const std::size_t before = redis.size_of("queue:ticks");
  const long commands_before = redis.commands_processed();
  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") > before + 2; }), brood.log_tail());
  BOOST_TEST(redis.commands_processed() - commands_before < 5'000);
  BOOST_TEST(redis.size_of("queue:other") == 0U);

  // Registrations of a later generation are not in force, and are replaced even if a fifo is in the way.
  const auto first_line = [&] {
    std::string line;
    std::getline(std::ifstream(file), line);
    return line;
  };
  BOOST_REQUIRE(mkfifo((file + "." + std::to_string(brood.pid())).c_str(), 0600) == 0);
  std::ofstream(file + ".new", std::ios::binary) << "999\n";
  std::filesystem::rename(file + ".new", file);
  BOOST_TEST(eventually([&] { return first_line() == "1"; }), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_with_its_place) {
  TemporaryDirectory directory;
  const auto refusal = [&](const std::string& text) {
    const std::string path = directory / "brood.toml";
    std::ofstream(path) << text;
    const CommandResult result = run_brood({"periodic", "check", "-C", path});
    BOOST_TEST(result.status == (result.errors.empty() ? 0 : 78));
    return result.errors;
  };
  const std::string job = "[periodic.a]\nclass = \"A\"\n";
  BOOST_TEST(refusal(job + "cron = \"0 25 * * *\"\n").find("brood.toml:3: periodic.a.cron: the hour \"25\"") !=
             std::string::npos);
  BOOST_TEST(refusal(job).find("periodic.a: needs cron") != std::string::npos);
  BOOST_TEST(refusal("[periodic.a]\ncron = \"@daily\"\n").find("periodic.a: needs class") != std::string::npos);
  BOOST_TEST(refusal(job + "cron = \"@daily\"\ntz = \"Europe/Berlim\"\n")
                 .find("periodic.a.tz: this machine knows no time zone \"Europe/Berlim\"; did you mean "
                       "\"Europe/Berlin\"?") != std::string::npos);
  BOOST_TEST(refusal(job + "cron = \"@daily\"\ncatchup = \"last\"\n").find("did you mean \"catch_up\"?") !=
             std::string::npos);
  BOOST_TEST(refusal(job + "cron = \"@daily\"\noverlap = \"never\"\n")
                 .find("must be \"allow\" or \"skip\" or \"queue\", not \"never\"") != std::string::npos);
  BOOST_TEST(refusal("[periodic]\nsidekiq_crown = true\n").find("did you mean \"sidekiq_cron\"?") != std::string::npos);
  BOOST_TEST(
      refusal("[periodic]\nsidekiq_cron = true\n" + job + "cron = \"@daily\"\nargs = [1, [2], {a = 1.5}]\n").empty());
  const std::string path = directory / "brood.toml";
  BOOST_TEST(run_brood({"run", "--check", "-C", path}).output.find("periodic a: @daily in UTC, next ") !=
             std::string::npos);
}
