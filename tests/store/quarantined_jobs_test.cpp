#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/redis_server.hpp"
#include "worker/admission/quarantined_jobs.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const char* const aside = "brood:quarantined";

std::string job(const std::string& job_class, int number, const std::string& queue = "default") {
  return R"({"class":")" + job_class + R"(","args":[],"jid":"j)" + std::to_string(number) + R"(","queue":")" + queue +
         "\"}";
}

// The part of a worker that knows which jobs wait, with our clock.
struct Onlooker {
  RedisServer redis;
  Connection connection{redis.address()};
  NameSet paused;
  SteadyTime now{1h};
  Quarantine quarantine;
  QuarantinedJobs jobs{connection, quarantine, [](const std::string&) { return true; }};

  explicit Onlooker(int after = 0) : quarantine(connection, {after, 600s}) {
    quarantine.set_libraries(0xabc, now);
    jobs.look(now, &paused);
  }
  // Looks as a worker does; no other process claims the looks.
  void look_for(std::chrono::milliseconds time) {
    for (const SteadyTime end = now + time; now < end; now += 50ms) {
      redis.command({"DEL", "brood:quarantine:look:0000000000000abc"});
      jobs.look(now, &paused);
    }
  }
  void lay_aside(int score, const std::string& payload) {
    redis.command({"ZADD", aside, std::to_string(score), payload});
  }
  // The class has crashed with other libraries than ours.
  void fall_ill(const std::string& job_class) {
    redis.command({"HSET", "brood:quarantine", job_class, "old f1 1795237318 3 0"});
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_waits_for_nothing_is_found_behind_all_that_waits_for_its_class) {
  Onlooker worker;
  worker.paused = {"Paused"};
  worker.look_for(20s);  // that change is over
  for (int i = 0; i < 5'000; ++i) worker.lay_aside(i, job("Paused", i));
  worker.lay_aside(9'999, job("Free", 9'999));
  worker.paused = {"Paused", "Another"};
  worker.look_for(15s);
  BOOST_TEST(worker.redis.size_of("queue:default") == 1u);
  BOOST_TEST(worker.redis.size_of(aside) == 5'000u);
  BOOST_TEST(!worker.jobs.some_wait());
}

BOOST_AUTO_TEST_CASE(after_the_last_was_put_back_looks_are_as_rare_as_before) {
  Onlooker worker;
  worker.lay_aside(1, job("Free", 1));
  worker.paused = {"Another"};
  worker.look_for(1s);
  BOOST_TEST(worker.redis.size_of("queue:default") == 1u);
  worker.look_for(20s);
  BOOST_TEST(!worker.jobs.some_wait());
}

BOOST_AUTO_TEST_CASE(a_trial_that_does_not_begin_is_left_to_another_job) {
  Onlooker worker(3);
  worker.fall_ill("Decode");
  worker.look_for(1s);
  BOOST_REQUIRE(worker.quarantine.may_defer(&worker.paused));
  const Payload one = Payload::parse(job("Decode", 1)), another = Payload::parse(job("Decode", 2));
  BOOST_TEST(!worker.quarantine.defers(one));
  BOOST_TEST(worker.redis.get("brood:quarantine:probe:Decode").value_or("") == "j1");
  worker.quarantine.does_not_begin(one);
  BOOST_TEST(!worker.redis.get("brood:quarantine:probe:Decode").has_value());

  BOOST_REQUIRE(worker.quarantine.may_defer(&worker.paused));
  BOOST_TEST(!worker.quarantine.defers(another));
  worker.quarantine.ended(another);
  BOOST_TEST(worker.jobs.some_wait());
  worker.look_for(1s);
  BOOST_TEST(!worker.jobs.some_wait());
}

BOOST_AUTO_TEST_CASE(a_queue_that_takes_no_job_keeps_no_class_from_its_trial) {
  Onlooker worker(3);
  worker.fall_ill("Decode");
  worker.redis.command({"SET", "queue:odd", "no list"});
  worker.lay_aside(1, job("Decode", 1, "odd"));
  worker.lay_aside(2, job("Decode", 2));
  worker.lay_aside(3, job("Decode", 3));
  worker.look_for(100ms);
  BOOST_TEST(worker.redis.lrange("queue:default") == std::vector<std::string>{job("Decode", 2)},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_trial_that_could_not_be_reported_to_redis_is_reported_later) {
  Onlooker worker(3);
  worker.fall_ill("Decode");
  worker.look_for(1s);
  BOOST_REQUIRE(worker.quarantine.may_defer(&worker.paused));
  const Payload one = Payload::parse(job("Decode", 1));
  BOOST_TEST(!worker.quarantine.defers(one));
  const std::string known = worker.redis.hget("brood:quarantine", "Decode").value();
  worker.redis.command({"DEL", "brood:quarantine"});
  worker.redis.command({"SET", "brood:quarantine", "no hash"});  // as any refusal

  worker.quarantine.ended(one);

  BOOST_TEST(worker.redis.get("brood:quarantine:probe:Decode").value_or("") == "j1");
  worker.redis.command({"DEL", "brood:quarantine"});
  worker.redis.command({"HSET", "brood:quarantine", "Decode", known});
  worker.look_for(20s);
  BOOST_TEST(!worker.redis.get("brood:quarantine:probe:Decode").has_value());
  BOOST_TEST(worker.redis.hget("brood:quarantine", "Decode").value() == "old f1 1795237318 3 1");
}

// A worker that did not know that the pause had ended may have set them aside, and have ended since.
BOOST_AUTO_TEST_CASE(a_new_worker_puts_back_soon_what_a_pause_has_left) {
  Onlooker worker;
  worker.lay_aside(1, job("Free", 1));
  worker.look_for(6s);
  BOOST_TEST(worker.redis.size_of("queue:default") == 1u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_comes_to_another_shard_looks_at_once_and_once_more) {
  Onlooker worker;
  worker.look_for(20s);
  worker.quarantine.forget();
  worker.jobs.forget();
  worker.lay_aside(1, job("Free", 1));
  worker.look_for(1s);
  BOOST_TEST(worker.redis.size_of("queue:default") == 1u);
  worker.lay_aside(2, job("Free", 2));
  worker.look_for(6s);
  BOOST_TEST(worker.redis.size_of("queue:default") == 2u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_has_not_heard_of_a_crash_tries_no_second_job) {
  Onlooker worker(3);
  worker.fall_ill("Decode");
  worker.look_for(6s);
  worker.connection.run(begin_probe("Decode", "j1", worker.quarantine.libraries()));
  worker.connection.run(count_quarantine_crash({"Decode", "f1", worker.quarantine.libraries(), "a 1.1"}, {3, 600s}));
  BOOST_TEST(worker.quarantine.defers(Payload::parse(job("Decode", 2))).has_value());
}
