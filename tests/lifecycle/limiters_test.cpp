#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>

#include <signal.h>

#include <fstream>
#include <set>
#include <sstream>

#include "shared/store/in_flight/caps.hpp"
#include "shared/store/limits/limit.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/storm.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string limiter_jobs = BROOD_BINARY_DIR "/tests/job_libraries/liblimiter_jobs.so";

BroodOptions with_limits(int workers, std::string config = "") {
  return {.workers = workers, .libraries = {limiter_jobs}, .config = "poll_interval = \"20ms\"\n" + std::move(config)};
}

std::string hold_job(const std::string& job_class, const TemporaryDirectory& directory, int id, int slots, int ms) {
  std::ostringstream args;
  args << "[\"" << directory.path() << "\",\"" << id << "\"," << slots << "," << ms << "]";
  return payload_text(job_class, args.str(), id + 1);
}

std::set<std::string> done_in(const TemporaryDirectory& directory) {
  const std::vector<std::string> lines = lines_of_file(directory / "done");
  return {lines.begin(), lines.end()};
}

double held(RedisServer& redis, const std::string& name) {
  Connection connection(redis.address());
  const Reply reply = connection.run(show_limit(name));
  const auto view = read_limit_view(reply.view());
  return view ? view->held : -1;
}

}  // namespace

// BROOD_STORM multiplies its length.
BOOST_AUTO_TEST_CASE(kills_leave_no_slot_behind_and_let_none_go_early) {
  RedisServer redis;
  const TemporaryDirectory directory;
  Dice dice;
  constexpr int slots = 2;
  const int jobs = 120 * storm_factor(), kills = 12 * storm_factor();
  std::vector<std::string> payloads;
  for (int i = 0; i < jobs; ++i)
    payloads.push_back(hold_job(i % 4 == 0 ? "HoldApart" : "Hold", directory, i, slots, dice.roll(1, 40)));
  enqueue(redis, payloads);
  BroodProcess brood(redis, with_limits(4));
  KilledWorkers killed;
  for (int i = 0; i < kills && done_in(directory).size() < static_cast<std::size_t>(jobs); ++i) {
    const std::size_t before = done_in(directory).size();
    BOOST_REQUIRE_MESSAGE(kill_a_worker(brood, dice, killed), brood.log_tail());
    if (i % 5 == 4) {
      brood.kill9();
      brood.start();
    }
    eventually(
        [&] { return done_in(directory).size() >= std::min<std::size_t>(before + 3, static_cast<std::size_t>(jobs)); },
        20s);
  }
  BOOST_REQUIRE_MESSAGE(drained(redis), brood.log_tail());
  BOOST_TEST(done_in(directory).size() == static_cast<std::size_t>(jobs));

  BOOST_TEST(eventually([&] { return held(redis, "erp") == 0; }, 5s));
  BOOST_TEST(lines_of_file(directory / "too_many").empty());
  BOOST_TEST(redis.size_of("dead") == 0u);
}

BOOST_AUTO_TEST_CASE(a_process_that_ends_while_its_worker_waits_for_a_slot_holds_up_no_worker) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const BroodProcess brood(redis, with_limits(2));
  enqueue(redis, {hold_job("Hold", directory, 0, 1, 60'000)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return held(redis, "erp") == 1; }), brood.log_tail());
  enqueue(redis, {payload_text("WaitsApart", "[\"" + directory / "waits" + "\"]", 2)});
  Connection connection(redis.address());
  const auto somebody_waits = [&] { return !redis.keys("brood:limit:erp:waited_for").empty(); };
  BOOST_REQUIRE_MESSAGE(eventually([&] { return lines_of_file(directory / "waits").size() == 1 && somebody_waits(); }),
                        brood.log_tail());
  kill(std::stoi(lines_of_file(directory / "waits").front()), SIGKILL);

  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }), brood.log_tail());
  BOOST_TEST(held(redis, "erp") == 1);
}

BOOST_AUTO_TEST_CASE(a_job_over_its_limit_is_deferred_uncharged) {
  for (const std::string job_class : {"OnceAnHour", "OnceAnHourApart"}) {
    RedisServer redis;
    const TemporaryDirectory directory;
    const BroodProcess brood(redis, with_limits(1));
    for (int i = 1; i <= 2; ++i)
      enqueue(redis, {payload_text(job_class, "[\"" + directory / "done" + "\"]", i, "\"retry\":false")});
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("schedule") == 1; }), brood.log_tail());

    const auto [payload, score] = redis.zrange("schedule").front();
    BOOST_TEST(payload.find("\"overrated\":1") != payload.npos, payload);
    BOOST_TEST(payload.find("error_class") == payload.npos);
    BOOST_TEST(payload.find("retry_count") == payload.npos);
    const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    BOOST_TEST(score - now > 280);
    BOOST_TEST(score - now < 602);
    BOOST_TEST(lines_of_file(directory / "done").size() == 1u);
    BOOST_TEST(redis.size_of("retry") == 0u);

    redis.command({"DEL", "schedule"});
    enqueue(redis, {payload_text(job_class, "[\"x\"]", 3, "\"retry\":false,\"overrated\":3")});
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("schedule") == 1; }), brood.log_tail());
    const auto [again, later] = redis.zrange("schedule").front();
    BOOST_TEST(again.find("\"overrated\":4") != again.npos, again);
    BOOST_TEST(later - now > 1180);
  }
}

BOOST_AUTO_TEST_CASE(a_job_that_was_deferred_often_enough_has_failed_and_counts_anew) {
  RedisServer redis;
  const BroodProcess brood(redis, with_limits(1));
  enqueue(redis, {payload_text("ThrowsOverLimit", "[3]", 1)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }), brood.log_tail());
  const std::string payload = redis.zrange("retry").front().first;
  BOOST_TEST(payload.find("\"error_class\":\"brood::OverLimit\"") != payload.npos, payload);
  BOOST_TEST(payload.find("over the limit of by_hand") != payload.npos, payload);
  BOOST_TEST(payload.find("overrated") == payload.npos, payload);
  BOOST_TEST(times_logged(brood, "job_over_limit") == 3u);
}

BOOST_AUTO_TEST_CASE(a_limiter_answers_as_documented) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const BroodProcess brood(redis, with_limits(1));
  enqueue(redis, {payload_text("Answers", "[\"" + directory / "said" + "\"]", 1),
                  payload_text("WrongLimiter", "[\"name\"]", 2), payload_text("WrongLimiter", "[\"refill\"]", 3),
                  payload_text("WrongLimiter", "[\"used\"]", 4)});
  BOOST_REQUIRE_MESSAGE(
      eventually([&] { return redis.size_of("retry") == 3 && no_job_is_left(redis, "default", true); }),
      brood.log_tail());
  BOOST_TEST(
      lines_of_file(directory / "said") == std::vector<std::string>{"ran 7 left out 0 ran ran left out left out"},
      boost::test_tools::per_element());
  std::string failed;
  for (const auto& [payload, score] : redis.zrange("retry")) failed += payload;
  for (const char* why : {"a limiter's name is", "a limiter's points refill by more than 0 a second",
                          "less than 0 is wanted of a limiter"})
    BOOST_TEST(failed.find(why) != failed.npos, failed);
}

BOOST_AUTO_TEST_CASE(a_job_without_limits_leaves_nothing_of_them) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const BroodProcess brood(redis, with_limits(1));
  enqueue(redis, {hold_job("InCappedQueue", directory, 0, 1, 1)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return done_in(directory).size() == 1; }), brood.log_tail());
  BOOST_TEST(redis.keys("brood:limit*").empty());
}

// ---- Caps of queues

namespace {

const std::string capped = R"(
queues = ["erp", "default"]
[limits.erp]
queues = ["erp"]
concurrent = 2
)";

std::size_t places_held(RedisServer& redis) {
  Connection connection(redis.address());
  const Reply reply = connection.run(show_cap("erp"));
  return read_cap_holders(reply.view()).size();
}

}  // namespace

// BROOD_STORM multiplies its length.
BOOST_AUTO_TEST_CASE(kills_leave_no_place_behind_and_let_none_go_early_and_other_queues_go_on) {
  RedisServer redis;
  const TemporaryDirectory directory, of_others;
  Dice dice;
  const std::size_t jobs = 100UL * static_cast<std::size_t>(storm_factor()), others = 2 * jobs;
  const int kills = 10 * storm_factor();
  std::vector<std::string> payloads, quick;
  for (int i = 0; i < static_cast<int>(jobs); ++i)
    payloads.push_back(hold_job("InCappedQueue", directory, i, 2, dice.roll(1, 30)));
  for (int i = 0; i < static_cast<int>(others); ++i)
    quick.push_back(hold_job("InCappedQueue", of_others, static_cast<int>(jobs) + i, 9, 1));
  enqueue(redis, payloads, "erp");
  enqueue(redis, quick, "default");
  BroodProcess brood(redis, with_limits(4, capped));
  KilledWorkers killed;
  for (int i = 0; i < kills && done_in(directory).size() < jobs; ++i) {
    const std::size_t before = done_in(directory).size();
    BOOST_REQUIRE_MESSAGE(kill_a_worker(brood, dice, killed), brood.log_tail());
    if (i % 5 == 4) {
      brood.kill9();
      brood.start();
    }
    eventually([&] { return done_in(directory).size() >= std::min(before + 3, jobs); }, 20s);
  }
  const auto left = [&] {
    make_retries_due(redis);
    return jobs_left(redis, "erp") + jobs_left(redis);
  };
  BOOST_REQUIRE_MESSAGE(falls_to(0, left), brood.log_tail());
  BOOST_TEST(done_in(directory).size() == jobs);
  BOOST_TEST(done_in(of_others).size() == others);

  BOOST_TEST(eventually([&] { return places_held(redis) == 0; }, 5s));
  BOOST_TEST(lines_of_file(directory / "too_many").empty());
}

BOOST_AUTO_TEST_CASE(a_capped_queue_keeps_its_order_and_starts_when_its_workers_are_idle) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const BroodProcess brood(redis, with_limits(3, R"(
queues = ["erp", "default"]
[limits.erp]
queues = ["erp"]
concurrent = 1
)"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::vector<std::string> ids;
  for (int i = 0; i < 30; ++i) {
    enqueue(redis, {hold_job("InCappedQueue", directory, i, 1, 1)}, "erp");
    ids.push_back(std::to_string(i));
  }
  BOOST_REQUIRE_MESSAGE(eventually([&] { return done_in(directory).size() == 30; }, 20s), brood.log_tail());
  BOOST_TEST(lines_of_file(directory / "done") == ids, boost::test_tools::per_element());
  BOOST_TEST(lines_of_file(directory / "too_many").empty());
}

BOOST_AUTO_TEST_CASE(shards_share_the_places_of_a_cap) {
  RedisServer first, second;
  const TemporaryDirectory directory;
  const BroodProcess brood(with_limits(
      4, capped + "[[redis.shard]]\nurl = \"" + first.url() + "\"\n[[redis.shard]]\nurl = \"" + second.url() + "\"\n"));
  for (RedisServer* redis : {&first, &second})
    enqueue(*redis, {hold_job("InCappedQueue", directory, 0, 2, 60'000), hold_job("InCappedQueue", directory, 1, 2, 1)},
            "erp");
  BOOST_TEST(eventually([&] { return places_held(first) == 1 && places_held(second) == 1; }), brood.log_tail());
  BOOST_TEST(first.size_of("queue:erp") == 1u);
  BOOST_TEST(second.size_of("queue:erp") == 1u);
  BOOST_TEST(lines_of_file(directory / "too_many").empty());
}

// ---- Caps of classes

namespace {

const std::string capped_class = R"(
queues = ["default"]
[limits.erp]
classes = ["InCappedQueue"]
concurrent = 2
)";

}  // namespace

BOOST_AUTO_TEST_CASE(kills_leave_no_place_of_a_class_behind_and_other_classes_of_its_queue_go_on) {
  RedisServer redis;
  const TemporaryDirectory directory, of_others;
  Dice dice;
  constexpr std::size_t jobs = 60, others = 60;
  std::vector<std::string> payloads;
  for (int i = 0; i < static_cast<int>(jobs); ++i) {
    payloads.push_back(hold_job("InCappedQueue", directory, i, 2, dice.roll(1, 30)));
    payloads.push_back(hold_job("Uncapped", of_others, static_cast<int>(jobs) + i, 9, 1));
  }
  enqueue(redis, payloads);
  BroodProcess brood(redis, with_limits(4, capped_class));
  KilledWorkers killed;
  for (int i = 0; i < 8; ++i) {
    const std::size_t before = done_in(directory).size();
    BOOST_REQUIRE_MESSAGE(kill_a_worker(brood, dice, killed), brood.log_tail());
    if (i == 4) {
      brood.kill9();
      brood.start();
    }
    eventually([&] { return done_in(directory).size() >= std::min(before + 3, jobs); }, 20s);
  }
  const auto all_done = [&] {
    make_retries_due(redis);
    return done_in(directory).size() == jobs && done_in(of_others).size() == others && no_job_is_left(redis) &&
           no_job_is_left(redis, "default@erp");
  };
  BOOST_REQUIRE_MESSAGE(eventually(all_done, 60s), brood.log_tail());
  BOOST_TEST(eventually([&] { return places_held(redis) == 0; }, 5s));
  BOOST_TEST(lines_of_file(directory / "too_many").empty());
  BOOST_TEST(redis.size_of("dead") == 0u);
}

BOOST_AUTO_TEST_CASE(a_capped_class_keeps_its_order_and_waits_beside_its_queue) {
  RedisServer redis;
  const TemporaryDirectory directory, of_others;
  const BroodProcess brood(redis, with_limits(3, R"(
queues = ["default"]
[limits.erp]
classes = ["InCappedQueue"]
concurrent = 1
)"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue(redis, {hold_job("InCappedQueue", directory, 0, 1, 60'000)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return places_held(redis) == 1; }), brood.log_tail());
  for (int i = 1; i < 4; ++i) enqueue(redis, {hold_job("InCappedQueue", directory, i, 1, 1)});
  enqueue(redis, {hold_job("Uncapped", of_others, 9, 9, 1)});

  BOOST_TEST(eventually([&] { return done_in(of_others).size() == 1; }), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("queue:default@erp") == 3; }), brood.log_tail());
  BOOST_TEST(redis.size_of("queue:default") == 0u);
  Api api(redis.url());
  BOOST_TEST(api.queue("default@erp").size() == 3);

  // Processes that fetch from the queue also fetch from this one.
  const auto says = [&](std::vector<std::string> words, const std::string& text) {
    words.insert(words.end(), {"--redis", redis.url()});
    return eventually([&] { return run_brood(words, brood.environment()).output.find(text) != std::string::npos; });
  };
  BOOST_TEST(says({"status", "--format", "prometheus"}, "brood_queue_served{queue=\"default@erp\"} 1"));
  const std::string queues = run_brood({"queues", "--json", "--redis", redis.url()}, brood.environment()).output;
  const std::size_t at = queues.find("\"default@erp\"");
  BOOST_REQUIRE(at != std::string::npos);
  BOOST_TEST(queues.substr(at, queues.find('}', at) - at).find("\"served\":true") != std::string::npos, queues);
}

// The queue is alone in its capsule: no worker waits on it, and the supervisor would look at no other.
BOOST_AUTO_TEST_CASE(a_job_of_a_capped_queue_or_class_that_is_pushed_to_an_idle_worker_begins_soon) {
  const std::string capped_alone = "queues = [\"erp\"]\n[limits.erp]\nqueues = [\"erp\"]\nconcurrent = 2\n";
  for (const std::string& config : {capped_alone, capped_class}) {
    RedisServer redis;
    const TemporaryDirectory directory;
    const BroodProcess brood(redis, with_limits(1, config));
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    std::vector<std::chrono::nanoseconds> took;
    for (int i = 0; i < 9; ++i) {
      const SteadyTime pushed = steady_now();
      enqueue(redis, {hold_job("InCappedQueue", directory, i, 9, 0)}, config == capped_class ? "default" : "erp");
      BOOST_REQUIRE(eventually([&] { return done_in(directory).size() == static_cast<std::size_t>(i) + 1; }));
      took.push_back(steady_now() - pushed);
    }
    std::sort(took.begin(), took.end());
    BOOST_TEST((took[4] < 500ms), took[4].count());
  }
}

BOOST_AUTO_TEST_CASE(a_capsule_of_one_worker_keeps_its_order_though_a_class_has_a_cap) {
  RedisServer redis;
  const TemporaryDirectory directory;
  std::vector<std::string> payloads, in_order;
  for (int i = 0; i < 300; ++i) {
    payloads.push_back(hold_job(i % 3 == 1 ? "InCappedQueue" : "Uncapped", directory, i, 9, 0));
    in_order.push_back(std::to_string(i));
  }
  enqueue(redis, payloads);
  const BroodProcess brood(redis, with_limits(1, capped_class));
  BOOST_TEST(eventually([&] { return done_in(directory).size() == in_order.size(); }), brood.log_tail());
  BOOST_TEST(lines_of_file(directory / "done") == in_order, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_waits_for_a_cap_that_is_configured_no_more_goes_back_to_its_queue) {
  RedisServer redis;
  const TemporaryDirectory directory;
  for (int i = 3; i > 0; --i)
    redis.command({"RPUSH", "queue:default@erp", hold_job("InCappedQueue", directory, i, 9, 1)});
  redis.command({"SADD", "brood:set_aside", "default@erp"});
  redis.command({"SADD", "queues", "default@erp"});
  const BroodProcess brood(redis, with_limits(1, "queues = [\"default\"]\n"));
  BOOST_REQUIRE_MESSAGE(eventually([&] { return done_in(directory).size() == 3; }), brood.log_tail());
  BOOST_TEST((lines_of_file(directory / "done") == std::vector<std::string>{"1", "2", "3"}));
  BOOST_TEST(eventually([&] { return redis.keys("brood:set_aside").empty(); }));
}

// The old worker keeps the cap to its end, and no worker serves the queue of its job any more.
BOOST_AUTO_TEST_CASE(a_job_that_crashes_when_its_cap_has_another_name_is_retried_in_its_queue) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const BroodProcess brood(redis, with_limits(1, capped_class));
  enqueue(redis, {hold_job("InCappedQueue", directory, 0, 9, 60'000)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return places_held(redis) == 1; }), brood.log_tail());
  const pid_t old = brood.workers().at(0);
  std::ofstream(brood.home() / "brood.toml")
      << "queues = [\"default\"]\n[limits.few]\nclasses = [\"InCappedQueue\"]\nconcurrent = 2\n";
  kill(brood.pid(), SIGHUP);
  BOOST_REQUIRE(eventually([&] { return brood.log().find("event=restart_ended outcome=done") != std::string::npos; }));

  kill(old, SIGSEGV);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }), brood.log_tail());
  const std::string record = redis.zrange("retry").front().first;
  BOOST_TEST(record.find("\"queue\":\"default\"") != record.npos, record);
  BOOST_TEST(eventually([&] { return redis.smembers("brood:set_aside") == std::vector<std::string>(); }),
             brood.log_tail());
}

BOOST_AUTO_TEST_CASE(the_command_line_shows_limits_and_begins_one_anew) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const BroodProcess brood(redis, with_limits(2, capped));
  const auto limits = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "limits");
    words.insert(words.end(), {"--redis", redis.url()});
    return run_brood(words, brood.environment());
  };
  BOOST_TEST(limits({"--json"}).output == "[]\n");
  enqueue(redis, {hold_job("InCappedQueue", directory, 0, 9, 60'000)}, "erp");
  enqueue(redis, {hold_job("Hold", directory, 1, 3, 60'000)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return held(redis, "erp") == 1 && places_held(redis) == 1; }),
                        brood.log_tail());
  const CommandResult list = limits({"list", "--json"});
  BOOST_TEST(list.output.find(R"({"name":"erp","kind":"cap","limit":2,"held":1})") != std::string::npos, list.output);
  BOOST_TEST(list.output.find(R"({"name":"erp","kind":"concurrent","limit":3,"held":1,)") != std::string::npos,
             list.output);
  BOOST_TEST(limits({}).output.find("3 at once") != std::string::npos);
  Api api(redis.url());
  const std::vector<LimitUsage> usages = api.limits("erp");
  BOOST_REQUIRE(usages.size() == 2u);
  BOOST_TEST(usages[0].kind == "cap");
  BOOST_TEST(usages[0].limit == 2);
  BOOST_TEST(usages[1].kind == "concurrent");
  for (const LimitUsage& usage : usages) {
    BOOST_TEST(usage.held == 1);
    BOOST_TEST(usage.holders.size() == 1u);
  }
  BOOST_TEST(api.limits().size() == 2u);
  BOOST_TEST(api.limits("none").empty());
  const CommandResult shown = limits({"show", "erp"});
  BOOST_TEST(shown.status == 0);
  BOOST_TEST(shown.output.find("held by") != std::string::npos, shown.output);
  BOOST_TEST(limits({"reset", "erp", "--json"}).output == R"({"name":"erp","held":2})"
                                                          "\n");
  BOOST_TEST(api.limits("erp").back().taken == 0);
  BOOST_TEST(api.reset_limit("erp"));
  BOOST_TEST(!api.reset_limit("none"));
  BOOST_TEST(limits({"show", "none"}).status == 75);
  BOOST_TEST(run_brood({"names", "limits", "--redis", redis.url()}, brood.environment()).output == "erp\n");
  BOOST_TEST(limits({"show"}).status == 64);
}
