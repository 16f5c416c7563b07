#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

#include "shared/store/identity_record.hpp"
#include "supervisor/queues/key_change_listener.hpp"
#include "supervisor/queues/quarantine_watch.hpp"
#include "supervisor/queues/queues_and_pauses_watch.hpp"
#include "supervisor/queues/set_aside_watch.hpp"
#include "supervisor/recovery/orphan_watch.hpp"
#include "supervisor/report/heartbeat.hpp"
#include "supervisor/report/process_pruning.hpp"
#include "supervisor/schedule/gem_schedules.hpp"
#include "supervisor/schedule/periodic_jobs.hpp"
#include "supervisor/schedule/scheduler.hpp"
#include "tests/store/invented_workers.hpp"
#include "tests/store/loop_with_redis.hpp"
#include "tests/support/redis_clients.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Redis goes away while a part of a shard waits for its answers, and comes back.  Then the shard makes the part look.
struct Losing : LoopWithRedis {
  static constexpr int most_turns = 12;  // of the loop: by then the longest of these looks has ended

  // Wherever in a look the connection is lost, the next look sees what has changed.
  template <typename Look, typename Change, typename Sees>
  void sees_changes(Look look, Change change, Sees sees) {
    for (int turns = 0; turns <= most_turns; ++turns) {
      look();
      turn(turns);
      connection.close();
      // No command that was sent may run after the change.  The remaining client is the one that asks.
      BOOST_REQUIRE(run_until([&] { return RedisClient::of(redis, "test").size() == 1; }));
      change(turns);
      open(connection);
      look();
      BOOST_TEST(run_until([&] { return sees(turns); }, 2s), "the connection was lost after " << turns << " turns");
    }
  }

  void turn(int turns) {
    Timer soon(loop, [] {});
    for (; turns > 0; --turns) {
      soon.start_in(1ms);
      loop.run_once();
    }
  }
};

CapsuleSettings capsule_of(const std::string& queue) {
  CapsuleSettings capsule;
  capsule.queues = QueueOrder({{queue, 0}});
  return capsule;
}

std::string job(int number) {
  return R"({"class":"A","args":[],"queue":"default","jid":"j)" + std::to_string(number) + "\"}";
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(queues_and_pauses_are_watched_again, Losing) {
  KnownQueues known;
  InventedWorkers workers;
  QueuesAndPausesWatch watch(loop, connection, workers, [&](const KnownQueues& now) { known = now; });
  watch.follow_names(true);
  const auto is_known = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };

  sees_changes([&] { watch.look(); },
               [&](int round) {
                 redis.command({"SADD", "paused", "paused" + std::to_string(round)});
                 redis.command({"SADD", "brood:paused_classes", "Class" + std::to_string(round)});
                 redis.command({"SADD", "queues", "new" + std::to_string(round)});
               },
               [&](int round) {
                 return is_known(known.paused, "paused" + std::to_string(round)) &&
                        is_known(known.paused_classes, "Class" + std::to_string(round)) &&
                        is_known(known.names, "new" + std::to_string(round));
               });
}

BOOST_FIXTURE_TEST_CASE(due_jobs_are_moved_again, Losing) {
  Scheduler scheduler(loop, connection, {"here:1:aaaaaaaaaaaa", {.fixed_average = 1h}, {}});

  sees_changes([&] { scheduler.look(); },
               [&](int round) {
                 redis.command({"ZADD", "schedule", "1.5", job(2 * round)});
                 redis.command({"ZADD", "retry", "1.5", job(2 * round + 1)});
               },
               [&](int round) { return redis.size_of("queue:default") == 2U * (static_cast<unsigned>(round) + 1); });
}

BOOST_FIXTURE_TEST_CASE(heartbeats_are_sent_again, Losing) {
  struct Fleet : Heartbeat::Workers {
    Metrics none;
    int beats = 0;
    std::vector<SeenSlot> slots() const override { return {}; }
    Metrics& metrics() override { return none; }
    bool observe_classes(SteadyTime) override { return true; }
    void note_beat_token(std::uint64_t) override {}
    void note_beat(BootTime) override { ++beats; }
  } fleet;
  Identity identity;
  identity.name = "here:7:aaaaaaaaaaaa";
  Heartbeat heartbeat(loop, connection, identity, {}, fleet);
  int before = 0;

  sees_changes([&] { heartbeat.beat(); },
               [&](int) {
                 redis.command({"DEL", identity.name});
                 before = fleet.beats;
               },
               [&](int) { return fleet.beats > before && redis.hget(identity.name, "info"); });
}

BOOST_FIXTURE_TEST_CASE(orphans_are_looked_for_again, Losing) {
  struct NoListener : OrphanWatch::Listener {
    std::set<std::string> fields;
    void handle(const DeadSupervisor&, SteadyTime) override {}
    void handle_field(const std::string& field) override { fields.insert(field); }
    void end_look(const std::set<std::string>&, SteadyTime) override {}
  } heir;
  Identity own = Identity::of_this_process(), other = own;
  other.name = "there:1:bbbbbbbbbbbb";
  other.hostname = "there";
  redis.command({"HSET", "brood:processes", other.name, identity_record(other)});
  OrphanWatch watch(
      loop, connection, own, [] { return std::set<std::string>(); }, heir);

  sees_changes([&] { watch.look(); },
               [&](int round) {
                 redis.command({"HSET", "brood:inflight:" + own.name, std::to_string(round) + ".7", "0 "});
               },
               [&](int round) { return heir.fields.contains(std::to_string(round) + ".7"); });
}

BOOST_FIXTURE_TEST_CASE(processes_are_pruned_again, Losing) {
  ProcessPruning pruning(loop, connection);

  sees_changes([&] { pruning.prune(); },
               [&](int round) {
                 redis.command({"DEL", "process_cleanup"});
                 redis.command({"SADD", "processes", "gone:" + std::to_string(round) + ":bbbbbbbbbbbb"});
               },
               [&](int) { return redis.size_of("processes") == 0; });
}

BOOST_FIXTURE_TEST_CASE(what_was_set_aside_is_given_back_again, Losing) {
  SetAsideWatch watch(loop, connection);

  sees_changes([&] { watch.look({capsule_of("default")}); },
               [&](int round) {
                 redis.command({"LPUSH", "queue:default@cap", job(round)});
                 redis.command({"SADD", "brood:set_aside", "default@cap"});
               },
               [&](int round) { return redis.size_of("queue:default") == static_cast<unsigned>(round) + 1; });
}

BOOST_FIXTURE_TEST_CASE(what_was_set_aside_is_given_back_once_redis_no_longer_refuses, Losing) {
  SetAsideWatch watch(loop, connection, {.in_vain = 20ms});
  redis.command({"SET", "brood:set_aside", "no set"});
  const long before = redis.figure("stats", "total_error_replies");
  watch.look({capsule_of("default")});
  BOOST_REQUIRE(run_until([&] { return redis.figure("stats", "total_error_replies") > before + 1; }));

  redis.command({"DEL", "brood:set_aside"});
  redis.command({"LPUSH", "queue:default@cap", job(1)});
  redis.command({"SADD", "brood:set_aside", "default@cap"});
  BOOST_TEST(run_until([&] { return redis.size_of("queue:default") == 1; }));
}

// As when a recovery gives back jobs that a worker had fetched from there, long after the configuration has changed.
BOOST_FIXTURE_TEST_CASE(what_is_set_aside_long_after_a_change_is_given_back_too, Losing) {
  SetAsideWatch watch(loop, connection, {.soon_for = 0s, .later = 20ms});
  watch.look({capsule_of("default")});
  for (int round = 0; round < 2; ++round) {
    redis.command({"LPUSH", "queue:default@cap", job(round)});
    redis.command({"SADD", "brood:set_aside", "default@cap", "elsewhere@cap"});
    BOOST_TEST(run_until([&] { return redis.size_of("queue:default") == static_cast<unsigned>(round) + 1; }));
  }
}

BOOST_FIXTURE_TEST_CASE(quarantine_is_watched_again, Losing) {
  struct Called : InventedWorkers {
    int calls = 0;
    bool others_may_come() const override { return true; }
    bool call(const std::set<int>&) override { return ++calls > 0; }
  } workers;
  QuarantineWatch watch(connection, workers);
  SteadyTime now = steady_now();
  int before = 0;

  sees_changes([&] { watch.look(now += 11s, true); },
               [&](int round) {
                 redis.command({"ZADD", "brood:quarantined", "1", job(round)});
                 before = workers.calls;
               },
               [&](int) { return workers.calls > before; });
}

BOOST_FIXTURE_TEST_CASE(periodic_jobs_are_pushed_again, Losing) {
  PeriodicSettings each_minute{.cron = "* * * * *", .rule = CronRule::parse("* * * * *"), .job_class = "Tick"};
  each_minute.catch_up = PeriodicSettings::CatchUp::last;
  each_minute.within = 1h;
  PeriodicJobs jobs(loop, connection, {.identity = "here:1:aaaaaaaaaaaa", .jobs = {{"tick", each_minute}}});
  const std::string state = "brood:periodic:job:tick";
  std::size_t before = 0;
  jobs.look();
  BOOST_REQUIRE(run_until([&] { return redis.hget(state, "last").has_value(); }));

  sees_changes([&] { jobs.look(); },
               [&](int) {
                 redis.command({"HSET", state, "last", std::to_string(static_cast<long>(redis_seconds()) - 120)});
                 before = redis.size_of("queue:default");
               },
               [&](int) { return redis.size_of("queue:default") > before; });
}

BOOST_FIXTURE_TEST_CASE(schedules_of_the_gem_are_served_again, Losing) {
  GemSchedules schedules(loop, connection, {.serves = true});
  const std::string schedule = "cron_job:default:report";
  redis.command({"SADD", "cron_jobs:default", schedule});
  std::size_t before = 0;

  sees_changes([&] { schedules.look(); },
               [&](int) {
                 redis.command({"DEL", schedule, schedule + ":enqueued"});
                 redis.command({"HSET", schedule, "status", "enabled", "cron", "* * * * *", "klass", "Report"});
                 before = redis.size_of("queue:default");
               },
               [&](int) { return redis.size_of("queue:default") > before; });
}

// The listener has its own connections.  They are lost before the supervisor's, with it or after it.
BOOST_FIXTURE_TEST_CASE(changes_are_heard_again, Losing) {
  int changes = 0;
  KeyChangeListener listener(loop, connection, {{"paused", [&] { ++changes; }}}, [](bool) {});
  const auto lose_its_own = [&] {
    for (const char* const type : {"normal", "pubsub"}) redis.command({"CLIENT", "KILL", "TYPE", type});
  };
  for (int turns = 0; turns <= most_turns; ++turns) {
    for (const bool its_own_first : {true, false}) {
      listener.listen();
      turn(turns);
      if (its_own_first) lose_its_own();
      turn(its_own_first ? turns : 0);
      connection.close();
      if (!its_own_first) turn(turns);
      open(connection);
      listener.listen();
      if (!its_own_first) lose_its_own();
      BOOST_REQUIRE(run_until([&] { return connection.connected() && listener.hears(); }));
      changes = 0;
      redis.command({"SADD", "paused", std::to_string(2 * turns + its_own_first)});
      BOOST_TEST(run_until([&] { return changes > 0; }, 2s), "lost after " << turns << " turns");
    }
  }
}
