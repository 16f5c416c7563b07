#include "shared/store/in_flight/quarantined_classes.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/recovery/crash_notes.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Quarantined {
  RedisServer server;
  Connection redis{server.address()};
  QuarantineRules rules{3, 600s};

  CountedCrash crash(const std::string& worker, const std::string& libraries = "old",
                     const std::string& fingerprint = "f1") {
    return read_counted_crash(
        redis.run(count_quarantine_crash({"Decode", fingerprint, libraries, worker}, rules)).view());
  }
  QuarantinedClasses classes() {
    const Reply reply = redis.call(ask_quarantined());
    return read_quarantined(reply.view());
  }
  std::int64_t answer(const ScriptCall& call) { return redis.run(call).view().integer(); }
};

const std::string payload = R"({"class":"Decode","args":[],"jid":"j1","queue":"images"})";

}  // namespace

BOOST_AUTO_TEST_CASE(a_class_is_in_quarantine_after_so_many_crashes_at_one_place) {
  Quarantined all;
  BOOST_TEST(all.crash("a 0.1").crashes == 1);
  BOOST_TEST(all.crash("a 0.2").crashes == 2);
  BOOST_TEST(!all.crash("a 0.3", "old", "f2").begins);  // elsewhere
  BOOST_TEST(all.classes().empty());
  const CountedCrash third = all.crash("a 0.4");
  BOOST_TEST((third.crashes == 3 && third.begins));
  const QuarantinedClasses classes = all.classes();
  BOOST_REQUIRE(classes.size() == 1u);
  const QuarantinedClass& decode = classes.at("Decode");
  BOOST_TEST(decode.libraries == "old");
  BOOST_TEST(decode.fingerprint == "f1");
  BOOST_TEST((decode.crashes == 3 && decode.passed == 0 && decode.since > 1e9));
  BOOST_TEST(!all.crash("a 0.5").begins);  // it is there already
}

BOOST_AUTO_TEST_CASE(a_crash_that_is_told_twice_counts_once) {
  Quarantined all;
  for (int i = 0; i < 5; ++i) BOOST_TEST(all.crash("a 0.1").crashes == 1);
  BOOST_TEST(all.classes().empty());
}

BOOST_AUTO_TEST_CASE(crashes_of_long_ago_do_not_count) {
  Quarantined all;
  all.redis.call({"ZADD", "brood:quarantine:crashes:f1", "1000", "a 0.1", "1001", "a 0.2"});
  BOOST_TEST(all.crash("a 0.3").crashes == 1);
  BOOST_TEST(all.redis.call({"TTL", "brood:quarantine:crashes:f1"}).view().integer() > 0);
}

BOOST_AUTO_TEST_CASE(with_other_libraries_one_crash_is_enough_and_ends_the_trial) {
  Quarantined all;
  for (const char* worker : {"a 0.1", "a 0.2", "a 0.3"}) all.crash(worker);
  BOOST_TEST(all.answer(begin_probe("Decode", "j1", "new")) == 1);
  const CountedCrash again = all.crash("a 0.4", "new", "f9");
  BOOST_TEST((again.crashes == 1 && again.begins));
  BOOST_TEST(all.classes().at("Decode").libraries == "new,old");
  BOOST_TEST(!all.crash("a 0.5", "old", "f1").begins);  // of a worker that was not replaced yet
  for (const char* libraries : {"b3", "b4", "b5"})
    BOOST_TEST(all.crash(std::string("a ") + libraries, libraries).begins);
  BOOST_TEST(all.classes().at("Decode").libraries == "b5,b4,b3,new");  // no more than four
  BOOST_TEST(all.redis.call(ask_probe("Decode")).view().integer() == 0);
}

// Until it has asked Redis again, a worker assumes that nothing has crashed with its libraries.
BOOST_AUTO_TEST_CASE(after_a_crash_no_second_job_is_tried_with_the_same_libraries) {
  Quarantined all;
  for (const char* worker : {"a 0.1", "a 0.2", "a 0.3"}) all.crash(worker);
  BOOST_TEST(all.answer(begin_probe("Decode", "j1", "new")) == 1);
  all.crash("a 0.4", "new");
  BOOST_TEST(all.answer(begin_probe("Decode", "j2", "new")) == 0);
  BOOST_TEST(all.answer(begin_probe("Decode", "j2", "ne")) == 1);
}

BOOST_AUTO_TEST_CASE(one_job_is_tried_at_a_time_and_three_set_the_class_free) {
  Quarantined all;
  for (const char* worker : {"a 0.1", "a 0.2", "a 0.3"}) all.crash(worker);
  for (const char* jid : {"j1", "j2", "j3"}) {
    BOOST_TEST(all.answer(begin_probe("Decode", jid, "new")) == 1);
    BOOST_TEST(all.answer(begin_probe("Decode", jid, "new")) == 1);  // the answer was lost
    BOOST_TEST(all.answer(begin_probe("Decode", "other", "new")) == 0);
    BOOST_TEST(all.answer(pass_probe("Decode", "other")) == 0);  // it was not the one
    BOOST_TEST(all.answer(pass_probe("Decode", jid)) == (std::string(jid) == "j3" ? 1 : 0));
    BOOST_TEST(all.answer(pass_probe("Decode", jid)) == 0);  // again
  }
  BOOST_TEST(all.classes().empty());
  BOOST_TEST(all.redis.call({"EXISTS", "brood:quarantine:probe:Decode"}).view().integer() == 0);
}

BOOST_AUTO_TEST_CASE(a_trial_of_a_class_that_was_set_free_meanwhile_sets_nothing_free) {
  Quarantined all;
  for (const char* rubbish : {"", "nonsense"}) {
    all.answer(begin_probe("Decode", "j1", "new"));
    if (*rubbish != 0) all.redis.call({"HSET", "brood:quarantine", "Decode", rubbish});
    BOOST_TEST(all.answer(pass_probe("Decode", "j1")) == 0);
    BOOST_TEST(all.redis.call(ask_probe("Decode")).view().integer() == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_trial_that_does_not_begin_makes_room_for_another) {
  Quarantined all;
  all.answer(begin_probe("Decode", "j1", "new"));
  BOOST_TEST(all.answer(leave_probe("Decode", "j2")) == 0);  // it was not the one
  BOOST_TEST(all.answer(begin_probe("Decode", "j2", "new")) == 0);
  BOOST_TEST(all.answer(leave_probe("Decode", "j1")) == 1);
  BOOST_TEST(all.answer(leave_probe("Decode", "j1")) == 0);
  BOOST_TEST(all.answer(begin_probe("Decode", "j2", "new")) == 1);
}

BOOST_AUTO_TEST_CASE(a_trial_that_is_not_ended_expires) {
  Quarantined all;
  all.answer(begin_probe("Decode", "j1", "new"));
  const std::int64_t left = all.redis.call({"TTL", "brood:quarantine:probe:Decode"}).view().integer();
  BOOST_TEST((left > 0 && left <= 600));
}

BOOST_AUTO_TEST_CASE(a_trial_lasts_as_long_as_heartbeats_report_its_job) {
  Quarantined quarantined;
  const auto answers = [&](const ScriptCall& call) { return quarantined.answer(call); };
  const auto seconds_left = [&] {
    return quarantined.redis.call({"TTL", "brood:quarantine:probe:Resize"}).view().integer();
  };
  BOOST_TEST(answers(begin_probe("Resize", "a", "new")) == 1);
  quarantined.redis.call({"EXPIRE", "brood:quarantine:probe:Resize", "5"});
  BOOST_TEST(answers(keep_probe("Resize", "b")) == 0);
  BOOST_TEST(seconds_left() <= 5);
  BOOST_TEST(answers(keep_probe("Resize", "a")) == 1);
  BOOST_TEST(seconds_left() > 500);
  BOOST_TEST(answers(leave_probe("Resize", "a")) == 1);
  BOOST_TEST(answers(keep_probe("Resize", "a")) == 0);  // a heartbeat that comes late begins none
  BOOST_TEST(seconds_left() == -2);
  BOOST_TEST(answers(begin_probe("Resize", "c", "new", false)) == 1);
  BOOST_TEST(seconds_left() > 80'000);
}

BOOST_AUTO_TEST_CASE(a_timeout_does_not_count_and_ends_the_trial_of_its_job) {
  Quarantined quarantined;
  ChargedCrash charged;
  charged.job_class = charged.crash.job_class = "Decode";
  charged.crash.fingerprint = "f1";
  charged.crash.jid = "j1";
  WorkerDeath death;
  death.worker.identity = "here:1:aaaaaaaaaaaa";
  death.cause = WorkerDeath::Cause{};
  death.cause->facts = CrashFacts{};
  const auto dies = [&](bool counts_as_crash) {
    death.cause->counts_as_crash = counts_as_crash;
    ++death.worker.incarnation;
    count_for_quarantine(quarantined.redis, charged, death, quarantined.rules);
  };
  BOOST_TEST(quarantined.answer(begin_probe("Decode", "j1", "new")) == 1);
  for (int i = 0; i < 5; ++i) dies(false);
  BOOST_TEST(quarantined.classes().empty());
  BOOST_TEST(quarantined.answer(begin_probe("Decode", "j2", "new")) == 1);
  for (int i = 0; i < 3; ++i) dies(true);
  BOOST_TEST(quarantined.classes().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_job_is_released_once_to_the_head_of_its_queue) {
  Quarantined all;
  all.redis.call({"RPUSH", "queue:images", "next"});
  all.redis.call({"ZADD", "brood:quarantined", "5", payload});
  BOOST_TEST(all.answer(release_quarantined(payload, "images")) == 1);
  BOOST_TEST(all.answer(release_quarantined(payload, "images")) == 0);
  BOOST_TEST(all.redis.call({"LINDEX", "queue:images", "-1"}).view().text() == payload);
  BOOST_TEST(all.redis.call({"LLEN", "queue:images"}).view().integer() == 2);
  BOOST_TEST(all.redis.call({"SISMEMBER", "queues", "images"}).view().integer() == 1);
}

BOOST_AUTO_TEST_CASE(a_full_redis_lets_a_job_go_back) {
  Quarantined all;
  all.redis.call({"ZADD", "brood:quarantined", "5", payload});
  all.server.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(all.answer(release_quarantined(payload, "images")) == 1);
  BOOST_TEST(all.server.lrange("queue:images").size() == 1u);
}

BOOST_AUTO_TEST_CASE(keys_of_another_type_are_named_before_anything_is_written) {
  const ScriptCall counts = count_quarantine_crash({"Decode", "f1", "old", "a 0.1"}, {3, 600s}),
                   begins = begin_probe("Decode", "j2", "new"), passes = pass_probe("Decode", "j1"),
                   releases = release_quarantined(payload, "images");
  const std::string crashes = "brood:quarantine:crashes:f1";
  const std::vector<std::pair<std::string, const ScriptCall*>> cases{
      {"brood:quarantine", &counts},    {crashes, &counts},
      {"brood:quarantine", &begins},    {"brood:quarantine", &passes},
      {"brood:quarantined", &releases}, {"queues", &releases},
      {"queue:images", &releases}};
  for (const auto& [key, call] : cases) {
    Quarantined all;
    all.redis.call({"ZADD", "brood:quarantined", "5", payload});
    all.answer(begin_probe("Decode", "j1", "new"));
    all.redis.call({"DEL", RedisKey(key)});
    all.redis.call({"SET", RedisKey(key), "text"});
    const std::vector<std::string> before = all.server.keys();
    BOOST_TEST(all.redis.run(*call).view().error() == "WRONGTYPE " + key + " is a string");
    BOOST_TEST(all.server.keys() == before, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(what_is_of_another_type_loses_no_job) {
  Quarantined all;
  all.redis.call({"ZADD", "brood:quarantined", "5", payload});
  all.redis.call({"SET", "queue:images", "no list"});
  BOOST_CHECK_THROW(all.answer(release_quarantined(payload, "images")), UnexpectedReply);
  BOOST_TEST(all.redis.call(ask_set_size(quarantined_set)).view().integer() == 1);
  all.redis.call({"HSET", "brood:quarantine", "Decode", "nonsense"});
  BOOST_TEST(all.classes().empty());
}

BOOST_AUTO_TEST_CASE(a_worker_settles_a_job_into_quarantine_as_it_is_and_once) {
  Quarantined all;
  all.redis.call({"HSET", "brood:inflight:me", "0.1", "7 images"});
  all.redis.call({"LPUSH", "brood:inflight:me:0.1:images", payload});
  Settlement settlement;
  settlement.identity = "me";
  settlement.field = "0.1";
  settlement.number = 7;
  settlement.held_queue = "images";
  settlement.outcomes = {{Outcome::Kind::quarantine, "", 12.5}};
  for (int sent = 0; sent < 2; ++sent) {
    const Reply reply = all.redis.run(settle_and_fetch(settlement, wall_now()));
    BOOST_TEST(read_settled(reply.view()).applied_before == (sent == 1));
    BOOST_TEST(all.redis.call({"ZSCORE", "brood:quarantined", payload}).view().text() == "12.5");
    BOOST_TEST(all.redis.call(ask_set_size(quarantined_set)).view().integer() == 1);
    BOOST_TEST(all.redis.call({"EXISTS", "brood:inflight:me:0.1:images"}).view().integer() == 0);
  }
}
