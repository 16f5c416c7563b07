#include "supervisor/schedule/scheduler.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <set>

#include "shared/job/payload.hpp"
#include "shared/store/sets/due_entries.hpp"
#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::string job(int i, const std::string& queue = "default") {
  return R"({"class":"A","args":[)" + std::to_string(i) + R"(],"queue":")" + queue + R"(","jid":"j)" +
         std::to_string(i) + R"(","created_at":1795237318514})";
}

struct Scheduling : LoopWithRedis {
  // So long that polling cannot be the reason for anything that happens earlier.
  static constexpr auto never = 1h;

  std::optional<Scheduler> scheduler;

  Scheduler& start(std::chrono::nanoseconds poll = never) {
    scheduler.emplace(loop, connection, Scheduler::Settings{"here:1:aaaaaaaaaaaa", {.fixed_average = poll}, {}});
    scheduler->look();
    return *scheduler;
  }

  void add(const std::string& set, double score, const std::string& member) {
    redis.command({"ZADD", set, score_text(score), member});
  }
  void add_many(const std::string& set, int count) {
    for (int i = 0; i < count;) {
      Command add{"ZADD", set};
      for (int batch = 0; batch < 500 && i < count; ++batch, ++i) add.add(std::to_string(1000 + i)).add(job(i));
      redis.command(add);
    }
  }
  bool eventually_queued(std::size_t count, const std::string& queue = "default") {
    return run_until([&] { return redis.size_of("queue:" + queue) == count; });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_due_job_is_moved_to_its_queue, Scheduling) {
  add("schedule", 1.5, job(1, "low"));
  add("retry", 2.5, job(2, "low"));
  start();

  BOOST_TEST(eventually_queued(2, "low"));
  BOOST_TEST(redis.size_of("schedule") == 0u);
  BOOST_TEST(redis.size_of("retry") == 0u);
  BOOST_TEST(redis.smembers("queues") == std::vector<std::string>{"low"}, boost::test_tools::per_element());

  const std::string first = redis.lrange("queue:low").back();  // `retry` comes first
  const Payload moved = Payload::parse(first);
  BOOST_TEST(first.substr(0, job(2, "low").size() - 1) == job(2, "low").substr(0, job(2, "low").size() - 1));
  BOOST_TEST(static_cast<double>(moved.integer("enqueued_at").value()) / 1000 == redis_seconds(),
             boost::test_tools::tolerance(1e-8));
}

BOOST_FIXTURE_TEST_CASE(a_job_is_moved_when_it_becomes_due_and_not_before, Scheduling) {
  const double due = redis_seconds() + 0.4;
  add("schedule", due, job(1));
  add("schedule", due + 0.2, job(2));
  start();

  BOOST_TEST(eventually_queued(2));
  for (const auto& [text, least] :
       {std::pair{redis.lrange("queue:default")[1], due}, std::pair{redis.lrange("queue:default")[0], due + 0.2}}) {
    const double at = static_cast<double>(Payload::parse(text).integer("enqueued_at").value()) / 1000;
    BOOST_TEST(at >= least - 0.001);
    BOOST_TEST(at < least + 60);  // a poll is an hour away
  }
}

BOOST_FIXTURE_TEST_CASE(what_was_pushed_since_is_found_by_polling, Scheduling) {
  start(50ms);
  run_until([&] { return redis.get("brood:scheduler") == std::nullopt; });
  add("schedule", 1, job(1));
  BOOST_TEST(eventually_queued(1));
}

BOOST_FIXTURE_TEST_CASE(a_poll_that_finds_nothing_due_takes_no_lock, Scheduling) {
  add("schedule", redis_seconds() + 3600, job(1));
  redis.command({"CONFIG", "RESETSTAT"});
  start(20ms);
  const auto stats = [&] { return std::string(redis.command({"INFO", "commandstats"}).view().text()); };
  const auto polls = [&] {
    const std::string text = stats(), before = "cmdstat_time:calls=";
    const auto at = text.find(before);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + before.size()));
  };
  BOOST_TEST(run_until([&] { return polls() >= 5; }));
  BOOST_TEST(stats().find("cmdstat_set:") == std::string::npos);
  BOOST_TEST(stats().find("cmdstat_del:") == std::string::npos);
  add("schedule", 1, job(2));
  BOOST_TEST(eventually_queued(1));
}

BOOST_FIXTURE_TEST_CASE(thousands_are_moved_in_order_and_each_once, Scheduling) {
  add_many("schedule", 3000);
  start();

  BOOST_TEST(eventually_queued(3000));
  BOOST_TEST(run_until([&] { return scheduler->moved() == 3000; }));
  const std::vector<std::string> queue = redis.lrange("queue:default");
  for (int i = 0; i < 3000; ++i) {
    if (Payload::parse(queue[queue.size() - 1 - i]).jid() != "j" + std::to_string(i)) BOOST_FAIL("not in order");
  }
}

BOOST_FIXTURE_TEST_CASE(its_lock_lives_on_with_each_batch, Scheduling) {
  add_many("schedule", 600);
  redis.command({"CONFIG", "RESETSTAT"});
  start();

  BOOST_TEST(run_until([&] { return scheduler->moved() == 600; }));
  const std::string stats(redis.command({"INFO", "commandstats"}).view().text());
  BOOST_TEST(stats.find("cmdstat_pexpire:calls=") != std::string::npos, stats);
}

BOOST_FIXTURE_TEST_CASE(two_schedulers_without_a_lock_double_nothing, Scheduling) {
  redis.command({"LPUSH", "brood:scheduler", "of another type: the lock is refused"});
  add_many("retry", 3000);
  AsyncConnection other_connection(loop.raw(), "other", {});
  open(other_connection);
  Scheduler other(loop, other_connection, {"there:1:bbbbbbbbbbbb", {.fixed_average = 50ms}, {}});
  start(50ms);
  other.look();

  BOOST_TEST(run_until([&] { return scheduler->moved() + other.moved() >= 3000; }));
  run_for(200ms);
  BOOST_TEST(scheduler->moved() + other.moved() == 3000u);
  const std::vector<std::string> queue = redis.lrange("queue:default");
  BOOST_TEST(queue.size() == 3000u);
  BOOST_TEST(std::set<std::string>(queue.begin(), queue.end()).size() == 3000u);
}

BOOST_FIXTURE_TEST_CASE(the_lock_of_another_is_waited_for_and_no_longer, Scheduling) {
  redis.command({"SET", "brood:scheduler", "there:1:bbbbbbbbbbbb", "PX", "60000"});
  add("schedule", 1, job(1));
  start();

  run_for(300ms);
  BOOST_TEST(redis.size_of("schedule") == 1u);
  redis.command({"DEL", "brood:scheduler"});
  BOOST_TEST(eventually_queued(1));
}

BOOST_FIXTURE_TEST_CASE(the_lock_is_given_back, Scheduling) {
  add("schedule", 1, job(1));
  start();
  BOOST_TEST(eventually_queued(1));
  BOOST_TEST(run_until([&] { return !redis.get("brood:scheduler"); }, 1500ms));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_job_goes_to_the_dead_set_with_the_reason, Scheduling) {
  add("schedule", 1, "not json");
  add("schedule", 2, R"({"class":"A","args":[],"queue":7})");
  add("schedule", 3, job(1));
  start();

  BOOST_TEST(eventually_queued(1));
  BOOST_TEST(run_until([&] { return redis.size_of("dead") == 2; }));
  BOOST_TEST(redis.size_of("schedule") == 0u);
  std::set<std::string> dead;
  for (const auto& [member, score] : redis.zrange("dead")) {
    dead.insert(member);
    BOOST_TEST(score == redis_seconds(), boost::test_tools::tolerance(1e-6));
  }
  BOOST_TEST(dead.contains("not json"));
  BOOST_TEST(dead.rbegin()->find(R"("error_message":")") != std::string::npos);
  BOOST_TEST(run_until([&] { return scheduler->moved_to_dead() == 2; }));
}

BOOST_FIXTURE_TEST_CASE(jobs_whose_queue_is_of_the_wrong_type_hold_up_no_others, Scheduling) {
  redis.command({"SET", "queue:bad", "no list"});
  for (int i = 0; i < 450; ++i) add("schedule", 1 + i, job(i, "bad"));
  add("schedule", 2000, job(1000));
  start();

  BOOST_TEST(eventually_queued(1));
  BOOST_TEST(redis.size_of("schedule") == 450u);
}

BOOST_FIXTURE_TEST_CASE(one_look_moves_all_but_what_must_stay, Scheduling) {
  redis.command({"SET", "queue:bad", "no list"});
  const auto queue_of = [](int i) { return i % 7 == 0 ? "bad" : i % 2 == 0 ? "even" : "odd"; };
  const auto is_no_job = [](int i) { return i % 11 == 0; };
  for (int i = 0; i < 3000; ++i) {
    add("schedule", 1 + i, is_no_job(i) ? "no job " + std::to_string(i) : job(i, queue_of(i)));
  }
  start();

  // The next look would come in an hour, so one look has moved all.
  BOOST_TEST(run_until([&] { return !redis.get("brood:scheduler") && scheduler->moved() > 0; }));
  std::map<std::string, std::vector<std::string>> expected;  // queue -> jids, as LPUSH leaves them
  std::size_t no_jobs = 0;
  for (int i = 2999; i >= 0; --i) {
    if (is_no_job(i))
      ++no_jobs;
    else
      expected[queue_of(i)].push_back("j" + std::to_string(i));
  }
  for (const std::string queue : {"even", "odd"}) {
    std::vector<std::string> jids;
    for (const std::string& payload : redis.lrange("queue:" + queue)) jids.push_back(Payload::parse(payload).jid());
    BOOST_TEST((jids == expected[queue]));
  }
  BOOST_TEST(redis.size_of("schedule") == expected["bad"].size());
  BOOST_TEST(redis.size_of("dead") == no_jobs);
}

BOOST_FIXTURE_TEST_CASE(a_set_of_the_wrong_type_does_not_hold_up_the_other, Scheduling) {
  redis.command({"SET", "retry", "no set"});
  add("schedule", 1, job(1));
  start();
  BOOST_TEST(eventually_queued(1));
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_is_scheduled_from, Scheduling) {
  add("schedule", 1, job(1));
  add("schedule", 2, "not json");
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  start();

  BOOST_TEST(eventually_queued(1));
  BOOST_TEST(run_until([&] { return redis.size_of("dead") == 1; }));
}

BOOST_FIXTURE_TEST_CASE(a_redis_that_forgot_the_scripts_is_sent_them_again, Scheduling) {
  start(50ms);
  add("schedule", 1, job(1));
  BOOST_TEST(eventually_queued(1));
  redis.command({"SCRIPT", "FLUSH"});
  add("schedule", 1, job(2));
  BOOST_TEST(eventually_queued(2));
}

BOOST_FIXTURE_TEST_CASE(a_redis_that_comes_back_is_scheduled_from, Scheduling) {
  start(50ms);
  redis.kill9();
  run_until([&] { return !connection.connected(); });
  redis.restart();
  add("schedule", 1, job(1));
  BOOST_TEST(eventually_queued(1));
}

BOOST_FIXTURE_TEST_CASE(large_members_are_moved_and_the_largest_as_they_are, Scheduling) {
  const std::string filler(3 << 20, 'x');
  const std::string huge = R"({"class":"Huge","args":[")" + std::string(17 << 20, 'x') + R"("],"queue":"large"})";
  add("schedule", 1, huge);
  add("retry", 1, std::string(17 << 20, '['));
  for (int i = 0; i < 30; ++i) {
    add("schedule", 2 + i, R"({"class":"Large","args":[)" + std::to_string(i) + ",\"" + filler + "\"]}");
  }
  add("schedule", 100, job(1));
  start();

  BOOST_TEST(run_until([&] { return redis.size_of("queue:default") == 31 && redis.size_of("queue:large") == 1; }, 60s));
  BOOST_TEST(redis.size_of("schedule") == 0u);
  BOOST_TEST((redis.lrange("queue:large").front() == huge));
  BOOST_TEST(run_until([&] { return redis.size_of("dead") == 1; }, 60s));
}

BOOST_FIXTURE_TEST_CASE(a_large_member_that_is_not_due_is_not_read_by_looks, Scheduling) {
  const auto sent = [&] {
    const std::string text(redis.command({"INFO", "stats"}).view().text()), before = "total_net_output_bytes:";
    return std::stod(text.substr(text.find(before) + before.size()));
  };
  add("schedule", redis_seconds() + 3600, R"({"class":"Huge","args":[")" + std::string(17 << 20, 'x') + "\"]}");
  add("schedule", redis_seconds() + 3601, job(1));
  start(20ms);
  run_for(300ms);
  add("schedule", 1, job(2));
  BOOST_TEST(eventually_queued(1));
  BOOST_TEST(sent() < 1'000'000.0);
}

BOOST_FIXTURE_TEST_CASE(the_first_score_of_a_set_is_found_to_the_last_digit, Scheduling) {
  Connection asking(redis.address());
  const auto first = [&](const std::optional<std::string>& above) {
    return read_first_score(asking.call(ask_first_score("schedule", above)).view()).value_or("none");
  };
  BOOST_TEST(first(std::nullopt) == "none");
  add("schedule", 4e9 + 0.123457, job(1));
  add("schedule", 5e9, job(2));
  BOOST_TEST(std::stod(first(std::nullopt)) == 4e9 + 0.123457);
  BOOST_TEST(std::stod(first("1700000000.000001")) == 4e9 + 0.123457);
  BOOST_TEST(first(first(std::nullopt)) == "5000000000");
  BOOST_TEST(first("5000000000") == "none");
  add("schedule", 17, job(3));
  BOOST_TEST(first(std::nullopt) == "-inf");
}

BOOST_FIXTURE_TEST_CASE(after_a_stop_nothing_is_moved, Scheduling) {
  start(20ms);
  scheduler->stop();
  add("schedule", 1, job(1));
  run_for(300ms);
  BOOST_TEST(redis.size_of("schedule") == 1u);
}

BOOST_FIXTURE_TEST_CASE(what_others_push_to_the_schedule_is_found_at_a_glance, Scheduling) {
  add("schedule", redis_seconds() + 3600, job(1));
  start();
  run_for(100ms);  // the look at the start has found nothing
  add("schedule", redis_seconds() + 0.6, job(2));
  add("schedule", 1, job(3));
  BOOST_TEST(eventually_queued(2));
  BOOST_TEST(redis.size_of("schedule") == 1u);

  // Again, after a look that a glance has brought.
  add("schedule", 1, job(4));
  BOOST_TEST(eventually_queued(3));
}

BOOST_FIXTURE_TEST_CASE(a_job_that_must_stay_brings_no_look_with_every_glance, Scheduling) {
  redis.command({"SET", "queue:bad", "no list"});
  add("schedule", 1, job(1, "bad"));
  redis.command({"CONFIG", "RESETSTAT"});
  scheduler.emplace(loop, connection, Scheduler::Settings{"here:1:aaaaaaaaaaaa", {.fixed_average = never}, {}, 10ms});
  scheduler->look();
  const auto calls = [&](const std::string& command) {
    const std::string text(redis.command({"INFO", "commandstats"}).view().text()),
        before = "cmdstat_" + command + ":calls=";
    const auto at = text.find(before);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + before.size()));
  };
  BOOST_TEST(run_until([&] { return calls("zcount") >= 100; }));
  BOOST_TEST(calls("set") <= 1);  // a look takes the lock
  BOOST_TEST(redis.size_of("schedule") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_glance_that_is_asked_for_during_a_look_comes_after_it, Scheduling) {
  scheduler.emplace(loop, connection, Scheduler::Settings{"here:1:aaaaaaaaaaaa", {.fixed_average = never}, {}, never});
  scheduler->look();
  add("schedule", 1, job(1));
  scheduler->glance();
  BOOST_TEST(eventually_queued(1));
  run_for(50ms);
  scheduler->glance();  // finds nothing
  run_for(50ms);
  add("schedule", 1, job(2));
  scheduler->glance();
  BOOST_TEST(eventually_queued(2));
}

namespace {

// The fields of a process's heartbeat.
struct MixedFleet : Scheduling {
  void beat(const std::string& identity, const std::string& queues, const std::string& quiet = "false") {
    redis.command({"SADD", "processes", identity});
    redis.command({"HSET", identity, "info", R"({"hostname":"h","queues":[)" + queues + "]}", "quiet", quiet});
  }
  MixedFleet() {
    beat("here:1:aaaaaaaaaaaa", R"("native","both")");
    redis.command({"HSET", "brood:processes", "here:1:aaaaaaaaaaaa", "{}"});
    beat("ruby:2:bbbbbbbbbbbb", R"("mailers","both")");
    beat("quiet:3:cccccccccccc", R"("quiet")", "true");
  }
  void add_due(const std::string& set) {
    int number = 0;
    for (const std::string queue : {"mailers", "native", "both", "quiet", "nobodys"})
      add(set, redis_seconds() - 1, job(++number, queue));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_rubys_processes_alone_serve_is_left_to_them_and_nothing_else, MixedFleet) {
  add_due("schedule");
  add_due("retry");
  start(50ms);
  for (const std::string queue : {"native", "both", "quiet", "nobodys"}) BOOST_TEST(eventually_queued(2, queue));
  run_for(300ms);
  BOOST_TEST(redis.size_of("queue:mailers") == 0u);
  BOOST_TEST(redis.size_of("schedule") == 1u);
  BOOST_TEST(redis.size_of("retry") == 1u);
}

BOOST_FIXTURE_TEST_CASE(its_own_queues_are_its_own_before_it_is_listed, MixedFleet) {
  redis.command({"DEL", "brood:processes"});  // as it is until the first worker has registered
  add_due("schedule");
  start();
  BOOST_TEST(eventually_queued(1, "native"));
  BOOST_TEST(eventually_queued(1, "both"));
  BOOST_TEST(redis.size_of("queue:mailers") == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_they_do_not_move_is_moved_in_the_end, MixedFleet) {
  add_due("schedule");
  scheduler.emplace(loop, connection,
                    Scheduler::Settings{"here:1:aaaaaaaaaaaa", {.fixed_average = 50ms}, {}, 10ms, true, 500ms});
  scheduler->look();
  BOOST_TEST(eventually_queued(1, "native"));
  BOOST_TEST(redis.size_of("queue:mailers") == 0u);
  BOOST_TEST(eventually_queued(1, "mailers"));
}

BOOST_FIXTURE_TEST_CASE(all_of_it_is_moved_where_that_is_asked_for, MixedFleet) {
  add_due("schedule");
  scheduler.emplace(loop, connection,
                    Scheduler::Settings{"here:1:aaaaaaaaaaaa", {.fixed_average = 50ms}, {}, 10ms, false});
  scheduler->look();
  BOOST_TEST(eventually_queued(1, "mailers"));
}

BOOST_FIXTURE_TEST_CASE(a_brood_that_takes_every_queue_moves_all_of_them, MixedFleet) {
  beat("here:1:aaaaaaaaaaaa", R"("*")");
  add_due("schedule");
  start(50ms);
  BOOST_TEST(eventually_queued(1, "mailers"));
}

BOOST_FIXTURE_TEST_CASE(what_a_heartbeat_says_may_be_anything, MixedFleet) {
  redis.command({"HSET", "ruby:2:bbbbbbbbbbbb", "info", "rubbish"});
  redis.command({"SET", "string:4:dddddddddddd", "no hash"});
  redis.command({"SADD", "processes", "string:4:dddddddddddd", "gone:5:eeeeeeeeeeee"});
  add_due("schedule");
  start(50ms);
  BOOST_TEST(eventually_queued(1, "mailers"));
  BOOST_TEST(redis.size_of("schedule") == 0u);
}
