#include "supervisor/report/heartbeat.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>

#include "shared/json/json_object.hpp"
#include "shared/store/identity_record.hpp"
#include "supervisor/queues/key_change_listener.hpp"
#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string name = "here:7:aaaaaaaaaaaa";
const std::string payload = R"({"class":"A","args":[1180591620717411303424,"\u00e9",[]],"jid":"j1"})";

struct Beating : LoopWithRedis, Heartbeat::Workers {
  std::vector<SeenSlot> seen;
  int beats = 0, times_unlisted = 0, times_taken = 0;
  std::function<void()> before_it_is_sent = [] {};
  std::vector<std::string> followed;
  std::optional<Heartbeat> heartbeat;

  Beating() { begin(BeatTokens()); }

  void begin(BeatTokens tokens) {
    Identity identity;
    identity.name = name;
    identity.hostname = "here";
    identity.pid = 7;
    ProcessFacts facts;
    facts.capsules = {CapsuleSettings{"default", 2, QueueOrder()}};
    facts.version = "0.1.0";
    facts.started_at = wall_now();
    heartbeat.emplace(loop, connection, identity, facts, *this, std::move(tokens));
  }

  Metrics no_metrics;
  std::vector<SeenSlot> slots() const override { return seen; }
  Metrics& metrics() override { return no_metrics; }
  bool observe_classes(SteadyTime) override { return true; }
  void note_beat_token(std::uint64_t) override { before_it_is_sent(); }
  void note_beat(BootTime) override { ++beats; }

  void hear() {
    const Heartbeat::News news = heartbeat->take_news();
    followed.insert(followed.end(), news.signals.begin(), news.signals.end());
    times_unlisted += news.was_unlisted;
    times_taken = heartbeat->name_is_taken();
  }
  template <typename Predicate>
  bool run_until(Predicate holds, std::chrono::milliseconds timeout = 20s) {
    return LoopWithRedis::run_until(
        [&] {
          hear();
          return holds();
        },
        timeout);
  }

  bool beat() {
    const int before = beats;
    heartbeat->beat();
    return run_until([&] { return beats > before; });
  }

  // Lets slot 2, incarnation 17, run the oldest job of its batch.
  SeenSlot& run_a_job() {
    SeenSlot slot;
    slot.number = 2;
    slot.seen.pid = ::getpid();
    slot.seen.incarnation = 17;
    slot.seen.number = 3;
    slot.seen.entries = {EntryState::running, EntryState::fetched};
    slot.seen.current = 0;
    slot.seen.started_at = WallTime(1795237366900ms);
    slot.seen.text_is_whole = true;
    slot.seen.queue = "low";
    slot.seen.jid = "j1";
    slot.seen.job_class = "A";
    slot.seen.processed = 1;
    seen = {slot};
    redis.command({"HSET", "brood:inflight:" + name, "2.17", "3 low"});
    redis.command({"LPUSH", "brood:inflight:" + name + ":2.17:low", payload, "another"});
    return seen[0];
  }

  std::map<std::string, std::string> work() { return redis.hgetall(name + ":work"); }
  std::string stat(const std::string& counter) { return redis.get("stat:" + counter).value_or("none"); }
  std::string today() { return statistics_day(wall_now()); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_beat_keeps_the_trial_of_a_class_for_the_job_that_runs, Beating) {
  const std::string key = "brood:quarantine:probe:A";
  const auto seconds_left = [&] { return redis.command({"TTL", key}).view().integer(); };
  redis.command({"SET", key, "j1", "EX", "5"});
  SlotSnapshot& running = run_a_job().seen;
  BOOST_TEST(beat());
  BOOST_TEST(seconds_left() <= 5);
  running.class_flags = job_is_on_trial;
  BOOST_TEST(beat());
  BOOST_TEST(seconds_left() > 500);
  redis.command({"SET", key, "j2", "EX", "5"});
  BOOST_TEST(beat());
  BOOST_TEST(seconds_left() <= 5);
}

BOOST_FIXTURE_TEST_CASE(a_beat_reports_the_process_and_its_state, Beating) {
  BOOST_TEST(beat());
  BOOST_TEST(redis.smembers("processes") == std::vector<std::string>{name}, boost::test_tools::per_element());
  const auto hash = redis.hgetall(name);
  BOOST_TEST(hash.size() == 9u);
  BOOST_TEST(hash.contains("brood_state"));
  BOOST_TEST(JsonObject::parse(hash.at("info")).string("identity").value() == name);
  BOOST_TEST(hash.at("busy") == "0");
  BOOST_TEST(std::stod(hash.at("beat")) == redis_seconds(), boost::test_tools::tolerance(1e-8));
  BOOST_TEST(hash.at("beat").find('.') != std::string::npos);
  BOOST_TEST(hash.at("quiet") == "false");
  BOOST_TEST(std::stol(hash.at("rss")) > 1000);
  BOOST_TEST(std::stol(hash.at("rtt_us")) > 0);
  BOOST_TEST(hash.at("concurrency") == "2");
  BOOST_TEST(redis.integer({"TTL", name}) >= 30);

  heartbeat->set_quiet(true);
  BOOST_TEST(beat());
  BOOST_TEST(redis.hget(name, "quiet").value() == "true");
}

BOOST_FIXTURE_TEST_CASE(a_running_job_is_shown_with_its_own_bytes, Beating) {
  run_a_job();
  BOOST_TEST(beat());
  BOOST_TEST(redis.hget(name, "busy").value() == "1");
  BOOST_TEST(work().size() == 1u);
  BOOST_TEST(work().begin()->first == thread_id(2, 17));
  const JsonObject entry = JsonObject::parse(work().begin()->second);
  BOOST_TEST(entry.string("queue").value() == "low");
  BOOST_TEST(entry.string("payload").value() == payload);
  BOOST_TEST(entry.integer("run_at").value() == 1795237366);
  BOOST_TEST(redis.hgetall(name + ":workers").size() == 1u);  // as Sidekiq 6.4.1 reads it
  BOOST_TEST(redis.integer({"TTL", name + ":work"}) >= 30);

  seen[0].seen.entries[0] = EntryState::succeeded;
  BOOST_TEST(beat());
  BOOST_TEST(work().empty());
  BOOST_TEST(redis.hget(name, "busy").value() == "0");
}

BOOST_FIXTURE_TEST_CASE(the_table_of_running_jobs_is_cleared_once, Beating) {
  const auto cleared = [&] {
    return redis.command({"INFO", "commandstats"}).view().text().find("cmdstat_del:") != std::string_view::npos;
  };
  redis.command({"HSET", name + ":work", "left", "by nobody"});
  BOOST_TEST(beat());
  BOOST_TEST(work().empty());
  redis.command({"CONFIG", "RESETSTAT"});
  BOOST_TEST(beat());
  BOOST_TEST(!cleared());

  run_a_job();
  BOOST_TEST(beat());
  seen[0].seen.entries[0] = EntryState::succeeded;
  BOOST_TEST(beat());
  BOOST_TEST(cleared());
  BOOST_TEST(work().empty());
}

BOOST_FIXTURE_TEST_CASE(a_large_job_that_runs_is_shown_without_its_arguments, Beating) {
  SlotSnapshot& seen = run_a_job().seen;
  seen.class_flags = job_is_large;
  BOOST_TEST(beat());
  const JsonObject entry = JsonObject::parse(work().at(thread_id(2, 17)));
  BOOST_TEST(entry.string("payload").value() == R"({"class":"A","jid":"j1","args":[]})");
  seen.entries.assign(20, EntryState::running);
  seen.current = 19;  // of more than the list holds
  BOOST_TEST(beat());
  BOOST_TEST(work().empty());
}

BOOST_FIXTURE_TEST_CASE(markup_in_a_running_job_is_neutralised, Beating) {
  SlotSnapshot& seen = run_a_job().seen;
  seen.class_flags = class_is_unsafe_html;
  seen.job_class = "<script>\"&'A";
  seen.jid = "<b>";
  BOOST_TEST(beat());
  const JsonObject entry = JsonObject::parse(work().at(thread_id(2, 17)));
  BOOST_TEST(entry.string("payload").value() == R"({"class":"_script____A","jid":"_b_","args":[]})");
}

// A queue that "*" found may have any name.
BOOST_FIXTURE_TEST_CASE(markup_in_the_queue_of_a_running_job_is_neutralised, Beating) {
  SlotSnapshot& seen = run_a_job().seen;
  seen.queue = "<i>q</i>";
  redis.command({"HSET", "brood:inflight:" + name, "2.17", "3 <i>q</i>"});
  redis.command({"LPUSH", "brood:inflight:" + name + ":2.17:<i>q</i>", payload});
  BOOST_TEST(beat());
  const JsonObject entry = JsonObject::parse(work().at(thread_id(2, 17)));
  BOOST_TEST(entry.string("queue").value() == "_i_q_/i_");
}

BOOST_FIXTURE_TEST_CASE(an_empty_or_scribbled_slot_shows_nothing, Beating) {
  run_a_job();
  SeenSlot empty = seen[0];
  empty.seen.pid = 0;
  SeenSlot scribbled = seen[0];
  scribbled.seen.current = 1'000'000;
  SeenSlot torn = seen[0];
  torn.seen.text_is_whole = false;
  torn.seen.queue.clear();
  seen = {empty, scribbled, torn};
  BOOST_TEST(beat());
  BOOST_TEST(work().empty());
}

BOOST_FIXTURE_TEST_CASE(what_was_performed_is_counted_once, Beating) {
  seen = {{0, {}}, {1, {}}};
  seen[0].seen.processed = 5;
  seen[1].seen.processed = 3;
  seen[1].seen.failed = 1;
  heartbeat->statistics().count_failure();
  BOOST_TEST(beat());
  BOOST_TEST(beat());
  BOOST_TEST(stat("processed") == "8");
  BOOST_TEST(stat("failed") == "2");
  BOOST_TEST(stat("processed:" + today()) == "8");
  BOOST_TEST(stat("failed:" + today()) == "2");
  BOOST_TEST(redis.integer({"TTL", "stat:processed:" + today()}) > 157'679'000);
  BOOST_TEST(redis.integer({"TTL", "stat:failed:" + today()}) > 157'679'000);

  seen[0].seen.processed = 6;
  BOOST_TEST(beat());
  BOOST_TEST(stat("processed") == "9");
}

BOOST_FIXTURE_TEST_CASE(nothing_performed_writes_no_counter, Beating) {
  BOOST_TEST(beat());
  BOOST_TEST(redis.keys("stat:*").empty());
}

BOOST_FIXTURE_TEST_CASE(a_counter_that_is_no_number_makes_nothing_count_twice, Beating) {
  redis.command({"SET", "stat:failed", "x"});
  seen = {{0, {}}};
  seen[0].seen.processed = 5;
  BOOST_TEST(beat());
  BOOST_TEST(beat());
  BOOST_TEST(stat("processed") == "5");
  BOOST_TEST(stat("failed") == "x");
}

BOOST_FIXTURE_TEST_CASE(counts_wait_while_redis_is_away, Beating) {
  seen = {{0, {}}};
  BOOST_TEST(beat());
  redis.kill9();
  run_until([&] { return !connection.connected(); });
  seen[0].seen.processed = 5;
  heartbeat->beat();
  run_for(50ms);
  redis.restart();
  run_until([&] { return connection.connected(); });
  BOOST_TEST(beat());
  BOOST_TEST(stat("processed") == "5");
}

BOOST_FIXTURE_TEST_CASE(counts_that_were_refused_are_kept, Beating) {
  seen = {{0, {}}};
  seen[0].seen.processed = 5;
  redis.command({"CONFIG", "SET", "min-replicas-to-write", "1"});  // every write: NOREPLICAS
  heartbeat->beat();
  run_for(300ms);
  BOOST_TEST(stat("processed") == "none");
  BOOST_TEST(beats == 0);
  redis.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
  BOOST_TEST(beat());
  BOOST_TEST(stat("processed") == "5");
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_is_beaten_into, Beating) {
  run_a_job();
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(redis.command({"SET", "x", "y"}).view().is_error());
  BOOST_TEST(beat());
  BOOST_TEST(redis.smembers("processes").size() == 1u);
  BOOST_TEST(redis.hget(name, "busy").value() == "1");
  BOOST_TEST(work().size() == 1u);
  BOOST_TEST(stat("processed") == "1");
}

BOOST_FIXTURE_TEST_CASE(a_redis_that_forgot_the_scripts_is_sent_them_again, Beating) {
  run_a_job();
  BOOST_TEST(beat());
  redis.command({"SCRIPT", "FLUSH"});
  redis.command({"DEL", name, name + ":work"});
  seen[0].seen.processed = 2;
  BOOST_TEST(beat());
  BOOST_TEST(redis.hget(name, "busy").value() == "1");
  BOOST_TEST(work().size() == 1u);
  BOOST_TEST(stat("processed") == "2");
}

BOOST_FIXTURE_TEST_CASE(signals_are_followed_in_order_between_two_beats, Beating) {
  BOOST_TEST(beat());
  for (const auto* signal : {"TTIN", "HUGE", "TSTP", "TERM"}) redis.command({"LPUSH", name + "-signals", signal});
  BOOST_TEST(run_until([&] { return followed.size() == 4; }, 8s));
  const std::vector<std::string> expected{"TTIN", "HUGE", "TSTP", "TERM"};
  BOOST_TEST(followed == expected, boost::test_tools::per_element());
  BOOST_TEST(beats == 1);
  BOOST_TEST(redis.size_of(name + "-signals") == 0u);
}

BOOST_FIXTURE_TEST_CASE(reported_signals_are_followed_at_once_and_looked_for_only_then, Beating) {
  KeyChangeListener watch(loop, connection, {{name + "-signals", [this] { heartbeat->look_for_signals(); }}},
                          [this](bool hears) { heartbeat->rely_on_reports(hears); });
  BOOST_REQUIRE(beat());
  watch.listen();
  BOOST_REQUIRE(run_until([&] { return watch.hears(); }));
  for (std::size_t number = 1; number <= 4; ++number) {
    redis.command({"LPUSH", name + "-signals", "TSTP"});
    BOOST_TEST(run_until([&] { return followed.size() == number; }, 1s));
  }
  BOOST_REQUIRE(run_until([&] { return !is_sent_within("rpop", 200ms); }));  // what the last one brought about is over
  BOOST_TEST(!is_sent_within("rpop", 2500ms));                               // longer than between two looks

  watch.stop();
  redis.command({"LPUSH", name + "-signals", "TSTP"});
  BOOST_TEST(run_until([&] { return followed.size() == 5; }, 4s));
}

BOOST_FIXTURE_TEST_CASE(a_beat_takes_signals_too, Beating) {
  redis.command({"LPUSH", name + "-signals", "TSTP"});
  BOOST_TEST(beat());
  BOOST_TEST(followed.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_job_that_begins_is_shown_before_the_next_beat_is_due, Beating) {
  BOOST_TEST(beat());
  run_a_job();
  BOOST_TEST(run_until([&] { return !work().empty() && beats == 2; }, 8s));
}

BOOST_FIXTURE_TEST_CASE(a_heartbeat_that_finishes_leaves_the_list_and_hands_over_its_counts, Beating) {
  run_a_job();
  BOOST_TEST(beat());
  seen[0].seen.processed = 4;
  heartbeat->finish();
  BOOST_TEST(run_until([&] { return heartbeat->has_finished(); }));
  BOOST_TEST(redis.size_of("processes") == 0u);
  BOOST_TEST(work().empty());
  BOOST_TEST(redis.hgetall(name + ":workers").empty());
  BOOST_TEST(stat("processed") == "4");
  BOOST_TEST(redis.size_of(name) > 0u);  // left to expire, as Sidekiq leaves it
}

BOOST_FIXTURE_TEST_CASE(a_heartbeat_that_finishes_during_a_beat_does_not_come_back, Beating) {
  run_a_job();
  heartbeat->beat();
  heartbeat->finish();
  BOOST_TEST(run_until([&] { return heartbeat->has_finished(); }));
  run_for(100ms);
  BOOST_TEST(redis.size_of("processes") == 0u);
  BOOST_TEST(stat("processed") == "1");
}

BOOST_FIXTURE_TEST_CASE(a_heartbeat_finishes_without_redis, Beating) {
  redis.kill9();
  run_until([&] { return !connection.connected(); });
  heartbeat->finish();
  BOOST_TEST(run_until([&] { return heartbeat->has_finished(); }, 5s));
}

BOOST_FIXTURE_TEST_CASE(a_heartbeat_finishes_after_two_seconds_while_redis_hangs, Beating) {
  BOOST_TEST(beat());
  redis.pause();
  heartbeat->finish();
  BOOST_TEST(run_until([&] { return heartbeat->has_finished(); }, 8s));
  redis.resume();
  run_for(100ms);
}

BOOST_FIXTURE_TEST_CASE(an_owner_of_jobs_in_flight_is_listed_again_with_the_next_beat, Beating) {
  Identity identity;
  identity.name = name;
  identity.hostname = "here";
  identity.pid = 7;
  run_a_job();
  const auto record = [&] { return redis.hget("brood:processes", name).value_or("none"); };
  BOOST_TEST(beat());
  BOOST_TEST(record() == identity_record(identity));
  BOOST_TEST(times_unlisted == 1);

  BOOST_TEST(beat());
  BOOST_TEST(times_unlisted == 1);

  // Another supervisor's record of it.
  redis.command({"HSET", "brood:processes", name, "{}"});
  BOOST_TEST(beat());
  BOOST_TEST(record() == identity_record(identity));
  BOOST_TEST(times_unlisted == 1);

  redis.command({"DEL", "brood:processes"});
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(beat());
  BOOST_TEST(record() == identity_record(identity));
  BOOST_TEST(times_unlisted == 2);
}

BOOST_FIXTURE_TEST_CASE(a_process_that_owns_nothing_is_not_listed_by_a_late_beat, Beating) {
  BOOST_TEST(beat());
  BOOST_TEST(redis.size_of("brood:processes") == 0U);
  BOOST_TEST(times_unlisted == 0);
}

BOOST_FIXTURE_TEST_CASE(a_list_of_processes_that_is_none_stops_no_heart, Beating) {
  run_a_job();
  redis.command({"SET", "brood:processes", "rubbish"});
  redis.command({"LPUSH", name + "-signals", "TSTP"});
  BOOST_TEST(beat());
  BOOST_TEST(run_until([&] { return followed == std::vector<std::string>{"TSTP"}; }));
  BOOST_TEST(times_unlisted == 0);
}

BOOST_FIXTURE_TEST_CASE(a_key_of_the_wrong_type_beside_it_stops_no_beat, Beating) {
  redis.command({"SET", "processes", "a string"});
  redis.command({"SET", name + "-signals", "a string"});

  BOOST_TEST(beat());
  BOOST_TEST(beat());
  BOOST_TEST(redis.hgetall(name).size() == 9u);

  redis.command({"DEL", "processes", name + "-signals"});
  redis.command({"LPUSH", name + "-signals", "TSTP"});
  BOOST_TEST(beat());
  BOOST_TEST(redis.smembers("processes") == std::vector<std::string>{name}, boost::test_tools::per_element());
  BOOST_TEST(followed == std::vector<std::string>{"TSTP"}, boost::test_tools::per_element());
}

// ---- Other processes of the same name

namespace {

struct Cloned : Beating {
  std::string token() { return redis.hget(name, "brood_token").value_or("none"); }
  void another_beats() { redis.command({"HSET", name, "brood_token", "0123456789abcdef"}); }
  bool finds_out() {
    heartbeat->beat();
    return run_until([&] { return times_taken > 0; });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(each_beat_leaves_another_token, Cloned) {
  BOOST_TEST(beat());
  const std::string first = token();
  BOOST_TEST(first.size() == 16U);
  BOOST_TEST(beat());
  BOOST_TEST(token() != first);
  BOOST_TEST(times_taken == 0);
}

BOOST_FIXTURE_TEST_CASE(where_another_beats_nothing_is_written_any_more, Cloned) {
  run_a_job();
  BOOST_TEST(beat());
  another_beats();
  redis.command({"LPUSH", name + "-signals", "TERM"});
  redis.command({"SREM", "processes", name});
  const auto hash = redis.hgetall(name), shown = work();
  seen[0].seen.entries[0] = EntryState::succeeded;  // no longer shown, and counted
  seen[0].seen.processed = 7;

  BOOST_TEST(finds_out());

  heartbeat->beat();
  heartbeat->finish();
  BOOST_TEST(run_until([&] { return heartbeat->has_finished(); }));
  run_for(50ms);
  hear();
  BOOST_CHECK(redis.hgetall(name) == hash);
  BOOST_CHECK(work() == shown);
  BOOST_TEST(redis.size_of("processes") == 0U);
  BOOST_TEST(redis.size_of(name + "-signals") == 1U);
  BOOST_TEST(stat("processed") == "1");
  BOOST_TEST(followed.empty());
  BOOST_TEST(beats == 1);
  BOOST_TEST(times_taken == 1);
}

// Two processes that were cloned before their first beat have no token in common.
BOOST_FIXTURE_TEST_CASE(a_new_supervisor_does_not_know_a_token_that_is_there_already, Cloned) {
  another_beats();
  BOOST_TEST(finds_out());
  BOOST_TEST(beats == 0);
}

BOOST_FIXTURE_TEST_CASE(a_heartbeat_that_expired_or_was_flushed_raises_no_alarm, Cloned) {
  BOOST_TEST(beat());
  redis.command({"DEL", name});
  BOOST_TEST(beat());
  redis.command({"HDEL", name, "brood_token"});
  BOOST_TEST(beat());
  redis.command({"FLUSHALL"});
  BOOST_TEST(beat());
  BOOST_TEST(times_taken == 0);
}

// A replica that takes over, or a Redis that restarts, may have an earlier token.
BOOST_FIXTURE_TEST_CASE(an_earlier_heartbeat_of_its_own_raises_no_alarm, Cloned) {
  BOOST_TEST(beat());
  const std::string first = token();
  for (int i = 0; i < 30; ++i) BOOST_TEST(beat());  // a minute's, at one every two seconds
  redis.command({"HSET", name, "brood_token", first});
  BOOST_TEST(beat());
  BOOST_TEST(times_taken == 0);
}

BOOST_FIXTURE_TEST_CASE(a_beat_whose_answer_was_lost_raises_no_alarm, Cloned) {
  BOOST_TEST(beat());
  const std::string first = token();
  // A Redis that stood still executes what it was sent once it goes on, and no client reads the answer.
  before_it_is_sent = [&] { redis.pause(); };
  heartbeat->beat();
  BOOST_TEST(run_until([&] { return !connection.connected(); }));
  before_it_is_sent = [] {};
  redis.resume();
  BOOST_TEST(run_until([&] { return connection.connected(); }));
  BOOST_TEST(token() != first);
  BOOST_TEST(beats == 1);

  BOOST_TEST(beat());
  BOOST_TEST(times_taken == 0);
}

BOOST_FIXTURE_TEST_CASE(the_next_program_in_this_process_knows_what_the_one_before_wrote, Cloned) {
  BOOST_TEST(beat());
  const std::string told = heartbeat->tokens().told();
  begin(BeatTokens(told));
  BOOST_TEST(beat());
  BOOST_TEST(times_taken == 0);

  // A handover without a token, from an older version.
  begin(BeatTokens(""));
  BOOST_TEST(beat());
  BOOST_TEST(times_taken == 0);
  another_beats();
  BOOST_TEST(finds_out());
}
