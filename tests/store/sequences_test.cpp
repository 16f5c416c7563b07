// Jobs of one sequence run one after the other, in the order of their queue.
#include <boost/test/unit_test.hpp>

#include <brood/client.hpp>

#include "shared/base/log.hpp"
#include "shared/job/sequence.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/sequences/sequences.hpp"
#include "supervisor/queues/sequence_watch.hpp"
#include "tests/store/loop_with_redis.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

const std::string identity = "host:1:0123456789ab";

std::string job(const std::string& jid, const std::string& sequence, const std::string& more = "",
                const std::string& queue = "default") {
  return R"({"class":"C","args":[],"queue":")" + queue + R"(","jid":")" + jid + R"(","sequence":")" + sequence + '"' +
         more + "}";
}

std::string jid_of(const std::string& payload) { return Payload::parse(payload).jid(); }

// A worker as the scripts know it.
struct Worker {
  Connection& connection;
  int incarnation = 0;
  std::uint64_t number = 0;
  std::string queue = {};
  Strings held = {};
  Settled last = {};

  std::string field() const { return "0." + std::to_string(incarnation); }
  // Settles what it holds, and returns the jids of what it holds then.
  Strings settle(const std::vector<Outcome>& outcomes, int want = 1, Strings draw = {"default"},
                 const std::string& wait_queue = "") {
    Settlement settlement{.identity = identity,
                          .field = field(),
                          .number = number,
                          .held_queue = queue,
                          .outcomes = outcomes,
                          .draw = std::move(draw),
                          .want = want,
                          .wait_queue = wait_queue,
                          .dead_limits = {},
                          .caps = nullptr};
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (const auto end = end_of_job(outcomes[i].kind)) append_held(settlement.let_go, held[i], 0, *end);
      if (outcomes[i].lets_lock_go_first) append_turn_for_lock(settlement.let_go, held[i]);
    }
    last = read_settled(connection.run(settle_and_fetch(settlement, wall_now())).view());
    BOOST_REQUIRE(!last.fenced);
    number = last.number;
    queue = last.queue;
    held = last.payloads;
    Strings jids;
    for (const std::string& payload : held) jids.push_back(jid_of(payload));
    return jids;
  }
  Strings fetch(int want = 1) { return settle({}, want); }
  Strings done(int want = 1) { return settle(std::vector<Outcome>(held.size()), want); }
  Strings fails(int want = 1) { return settle({{Outcome::Kind::retry, held.front(), 5}}, want); }
  Strings lets_lock_go_first(int want = 1) {
    Outcome outcome{Outcome::Kind::requeue_head};
    outcome.lets_lock_go_first = true;
    return settle({outcome}, want);
  }
  Taken take_lock(const std::string& sequence) {
    return read_taken(
        connection.run(take_unique_lock({identity, field(), number}, "l", jid_of(held.front()), 0ms, sequence)).view());
  }
  Strings dies(int want = 1) { return settle({{Outcome::Kind::move_to_dead, held.front(), 5}}, want); }

  // Does what Redis does once the queue that the worker waits on has a job.
  Settled wait(const Strings& draw = {}) {
    arrive();
    return after_wait(draw);
  }
  void arrive() {
    held = {*read_arrived(connection.call(wait_on_queue(identity, field(), queue, std::chrono::seconds(1))).view())};
  }
  // Returns whether the wait would find a job at once.
  bool before_wait(bool lets_others_enter = true) {
    return connection
               .run(brood::before_wait({.identity = identity,
                                        .field = field(),
                                        .number = number,
                                        .wait_queue = queue,
                                        .draw = {},
                                        .lets_others_enter = lets_others_enter}))
               .view()
               .integer() == 1;
  }
  Settled after_wait(const Strings& draw = {}) {
    return read_settled(connection.run(fetch_after_wait({identity, field(), number, queue, draw, 10})).view());
  }
  Taken enter(const std::string& sequence, const std::string& jid) {
    return read_taken(connection.run(enter_sequence({identity, field(), number}, sequence, jid)).view());
  }
  void dies_with_it() {
    const DeadWorker self{.identity = identity,
                          .slot = 0,
                          .incarnation = static_cast<std::uint64_t>(incarnation),
                          .record = DeadWorker::Record{.number = number, .entries = {}, .queue = queue},
                          .ended_by_brood = true};
    const auto same = [](const std::string& payload, const std::string&) {
      return Outcome{.kind = Outcome::Kind::requeue_head, .payload = payload, .score = 0};
    };
    recover(connection, self, DeadLimits{}, same, same);
  }
};

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};

  Worker worker(int incarnation) {
    connection.run(register_incarnation(identity, "{}", "0." + std::to_string(incarnation)));
    return {connection, incarnation};
  }
  void push(const std::string& payload, const std::string& queue = "default") {
    redis.command({"LPUSH", "queue:" + queue, payload});
  }
  std::string holder(const std::string& sequence) {
    const std::string held = redis.hget("brood:sequences", sequence).value_or("0 none");
    return held.substr(held.find(' ') + 1);
  }
  Strings waiting(const std::string& sequence) {
    Strings jids;
    for (const std::string& payload : redis.lrange("brood:sequence:" + sequence)) jids.push_back(jid_of(payload));
    return jids;
  }
  bool leaves_no_key() { return redis.integer({"EXISTS", "brood:sequences", "brood:sequence:s"}) == 0; }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(jobs_of_a_sequence_are_fetched_one_after_the_other, Site) {
  Worker one = worker(1), two = worker(2);
  for (const char* const jid : {"a", "b", "c"}) push(job(jid, "s"));
  push(R"({"class":"C","args":[],"queue":"default","jid":"free"})");
  BOOST_TEST(one.fetch() == Strings{"a"});
  BOOST_TEST(two.fetch() == Strings{"free"});
  BOOST_TEST(holder("s") == "a");
  BOOST_TEST(waiting("s") == (Strings{"b", "c"}), boost::test_tools::per_element());
  BOOST_TEST(two.done() == Strings{});
  BOOST_TEST(one.done() == Strings{"b"});
  BOOST_TEST(two.fetch() == Strings{});
  BOOST_TEST(one.done() == Strings{"c"});
  BOOST_TEST(one.done() == Strings{});
  BOOST_TEST(leaves_no_key());
}

BOOST_FIXTURE_TEST_CASE(a_batch_has_one_job_of_each_sequence, Site) {
  Worker one = worker(1);
  for (const char* const jid : {"a", "b"}) push(job(jid, "s"));
  for (const char* const jid : {"x", "y"}) push(job(jid, "t"));
  BOOST_TEST(one.fetch(10) == (Strings{"a", "x"}), boost::test_tools::per_element());
  BOOST_TEST(one.done(10) == (Strings{"y", "b"}), boost::test_tools::per_element());
  BOOST_TEST(one.done(10) == Strings{});
  BOOST_TEST(leaves_no_key());
}

BOOST_FIXTURE_TEST_CASE(a_failed_job_holds_up_the_others_until_it_dies, Site) {
  Worker one = worker(1), two = worker(2);
  for (const char* const jid : {"a", "b"}) push(job(jid, "s"));
  BOOST_TEST(one.fetch() == Strings{"a"});
  const std::string failed = one.held.front();
  BOOST_TEST(one.fails() == Strings{});
  BOOST_TEST(holder("s") == "a");
  push(failed);  // its retry is due
  push(job("c", "s"));
  BOOST_TEST(two.fetch() == Strings{"a"});
  BOOST_TEST(one.fetch() == Strings{});
  BOOST_TEST(two.dies() == Strings{"b"});
  BOOST_TEST(two.done() == Strings{"c"});
}

BOOST_FIXTURE_TEST_CASE(a_failed_job_may_let_the_others_pass, Site) {
  Worker one = worker(1);
  push(job("a", "s", R"(,"if_failed":"pass")"));
  push(job("b", "s"));
  BOOST_TEST(one.fetch() == Strings{"a"});
  const std::string failed = one.held.front();
  BOOST_TEST(one.fails() == Strings{"b"});
  push(failed);
  BOOST_TEST(worker(2).fetch() == Strings{});
  BOOST_TEST(waiting("s") == Strings{"a"});
  BOOST_TEST(one.done() == Strings{"a"});
  BOOST_TEST(one.done() == Strings{});
  BOOST_TEST(leaves_no_key());
}

BOOST_FIXTURE_TEST_CASE(a_job_that_wants_a_lock_lets_the_one_behind_it_go_first_that_has_the_lock, Site) {
  Worker one = worker(1), two = worker(2);
  const std::string unique = R"(,"unique_lock":"l")";
  redis.command({"SET", "brood:unique:l", "a"});
  push(job("a", "s", R"(,"if_failed":"pass")" + unique));
  push(job("b", "s", unique));
  push(job("c", "s"));
  BOOST_TEST(one.fetch() == Strings{"a"});
  const std::string failed = one.held.front();
  BOOST_TEST(one.fails() == Strings{"b"});
  BOOST_TEST((one.take_lock("s") == Taken::no));  // "a" waits for its retry
  BOOST_TEST((one.take_lock("") == Taken::no));
  push(failed);
  BOOST_TEST(two.fetch() == Strings{});
  BOOST_TEST(waiting("s") == (Strings{"c", "a"}), boost::test_tools::per_element());
  BOOST_TEST((one.take_lock("") == Taken::no));
  BOOST_TEST((one.take_lock("s") == Taken::behind));
  BOOST_TEST(one.lets_lock_go_first(0) == Strings{});
  BOOST_TEST(holder("s") == "a");
  BOOST_TEST(waiting("s") == (Strings{"b", "c"}), boost::test_tools::per_element());
  BOOST_TEST(two.fetch() == Strings{"a"});
  BOOST_TEST(two.done() == Strings{"b"});
  BOOST_TEST((two.take_lock("s") == Taken::yes));
  BOOST_TEST(two.done() == Strings{"c"});
  BOOST_TEST(two.done() == Strings{});
  BOOST_TEST(leaves_no_key());
}

BOOST_FIXTURE_TEST_CASE(a_job_whose_lock_became_free_meanwhile_keeps_its_turn, Site) {
  Worker one = worker(1);
  push(job("b", "s", R"(,"unique_lock":"l")"));
  push(job("c", "s"));
  BOOST_TEST(one.fetch() == Strings{"b"});
  BOOST_TEST(one.lets_lock_go_first() == Strings{"b"});
  redis.command({"SET", "brood:unique:l", "a"});  // of a job that is elsewhere
  BOOST_TEST(one.lets_lock_go_first() == Strings{"b"});
  BOOST_TEST(holder("s") == "b");
}

BOOST_FIXTURE_TEST_CASE(the_job_that_has_a_lock_is_found_among_many_that_wait, Site) {
  Worker one = worker(1);
  redis.command({"SET", "brood:unique:l", "a"});
  push(job("b", "s", R"(,"unique_lock":"l")"));
  BOOST_TEST(one.fetch() == Strings{"b"});
  redis.command({"RPUSH", "brood:sequence:s", job("a", "s")});
  for (int i = 0; i < 3'000; ++i) redis.command({"RPUSH", "brood:sequence:s", job("j" + std::to_string(i), "s")});
  BOOST_TEST(eventually([&] { return one.take_lock("s") == Taken::behind; }));
}

BOOST_FIXTURE_TEST_CASE(a_recovered_job_still_holds_its_sequence, Site) {
  Worker one = worker(1), two = worker(2);
  for (const char* const jid : {"a", "b"}) push(job(jid, "s"));
  BOOST_TEST(one.fetch() == Strings{"a"});
  BOOST_TEST(two.fetch() == Strings{});
  one.dies_with_it();
  BOOST_TEST(holder("s") == "a");
  BOOST_TEST(two.fetch() == Strings{"a"});
  BOOST_TEST(two.done() == Strings{"b"});
}

BOOST_FIXTURE_TEST_CASE(many_jobs_that_wait_are_moved_by_several_fetches, Site) {
  Worker one = worker(1), two = worker(2);
  for (int i = 0; i < 700; ++i) push(job("j" + std::to_string(i), "s"));
  push(R"({"class":"C","args":[],"queue":"default","jid":"free"})");
  BOOST_TEST(one.fetch() == Strings{"j0"});
  BOOST_TEST(two.fetch() == Strings{});
  BOOST_TEST(two.last.has_more);
  BOOST_TEST(two.fetch() == Strings{});
  BOOST_TEST(two.last.has_more);
  BOOST_TEST(two.fetch() == Strings{"free"});
  BOOST_TEST(waiting("s").size() == 699u);
  for (int i = 1; i < 700; ++i) BOOST_REQUIRE(one.done() == Strings{"j" + std::to_string(i)});
}

BOOST_FIXTURE_TEST_CASE(what_is_no_sequence_is_left_to_the_worker, Site) {
  Worker one = worker(1);
  for (const char* const member :
       {R"("sequence":5)", R"("sequence":"")", R"("sequence":null)", R"("x":{"sequence":"s"})"})
    push(std::string(R"({"class":"C","queue":"default","args":[],"jid":"j",)") + member + "}");
  push(R"({"class":"C","queue":"default","args":[],"sequence":"no jid"})");
  push(R"({"class":"C","queue":"default","args":["a \"sequence\" of bytes])");
  BOOST_TEST(one.connection.call({"LLEN", "queue:default"}).view().integer() == 6);
  Settlement all;
  all.identity = identity;
  all.field = one.field();
  all.draw = {"default"};
  all.want = 10;
  BOOST_TEST(read_settled(connection.run(settle_and_fetch(all, wall_now())).view()).payloads.size() == 6u);
  BOOST_TEST(leaves_no_key());
}

BOOST_FIXTURE_TEST_CASE(jobs_that_waits_bring_enter_in_the_order_in_which_they_came, Site) {
  Worker one = worker(1), two = worker(2), three = worker(3);
  for (Worker* const waiter : {&one, &two}) BOOST_TEST(waiter->settle({}, 1, {"default"}, "default") == Strings{});
  for (const char* const jid : {"a", "b", "c"}) push(job(jid, "s"));
  for (Worker* const waiter : {&one, &two}) waiter->arrive();
  // "c" must not overtake those that are on their way.
  BOOST_TEST(three.fetch() == Strings{});
  BOOST_TEST(three.last.has_more_soon);
  BOOST_TEST(one.after_wait().nothing);
  BOOST_TEST(holder("s") == "a");
  BOOST_TEST(three.fetch() == Strings{});
  BOOST_TEST(two.after_wait().gone_to_wait);
  BOOST_TEST(three.fetch() == Strings{});
  BOOST_TEST(!three.last.has_more_soon);
  BOOST_TEST(waiting("s") == (Strings{"b", "c"}), boost::test_tools::per_element());
  BOOST_TEST((one.enter("s", "a") == Taken::yes));
  BOOST_TEST((two.enter("s", "b") == Taken::no));
  BOOST_TEST(redis.integer({"EXISTS", keys::in_flight_list(identity, two.field(), "default")}) == 0);
  BOOST_TEST(one.done() == Strings{"b"});
}

BOOST_FIXTURE_TEST_CASE(a_job_that_a_wait_finds_at_once_lets_those_before_it_enter_first, Site) {
  Worker one = worker(1), two = worker(2), late = worker(3);
  for (Worker* const waiter : {&one, &two, &late})
    BOOST_TEST(waiter->settle({}, 1, {"default"}, "default") == Strings{});
  for (Worker* const waiter : {&one, &two}) BOOST_TEST(!waiter->before_wait());
  for (const char* const jid : {"a", "b", "c", "d"}) push(job(jid, "s"));
  for (Worker* const waiter : {&one, &two}) waiter->arrive();
  BOOST_TEST(late.before_wait());
  BOOST_TEST(late.wait().gone_to_wait);
  BOOST_TEST(redis.lrange("queue:default").size() == 2u);
  BOOST_TEST(jid_of(redis.lrange("queue:default").back()) == "c");
  BOOST_TEST(holder("s") == "none");
  BOOST_TEST(one.after_wait().nothing);  // though the one behind it has not entered
  BOOST_TEST(two.after_wait().gone_to_wait);
  BOOST_TEST(late.before_wait());
  BOOST_TEST(late.wait().gone_to_wait);
  BOOST_TEST(holder("s") == "a");
  BOOST_TEST(waiting("s") == (Strings{"b", "c"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_job_that_never_enters_is_not_waited_for_by_those_that_have_waited_long, Site) {
  Worker lost = worker(1), other = worker(2);
  for (Worker* const waiter : {&lost, &other}) BOOST_TEST(waiter->settle({}, 1, {"default"}, "default") == Strings{});
  for (const char* const jid : {"a", "b"}) push(job(jid, "s"));
  lost.arrive();
  BOOST_TEST(other.before_wait(false));
  BOOST_TEST(other.wait().nothing);
  BOOST_TEST(holder("s") == "b");
}

BOOST_FIXTURE_TEST_CASE(only_workers_that_wait_are_searched_for_jobs_that_have_not_entered, Site) {
  const auto waits = [&](const Worker& one) {
    return redis.hget("brood:waits:default", identity + ":" + one.field()).has_value();
  };
  Worker one = worker(1), two = worker(2), three = worker(3);
  BOOST_TEST(one.settle({}, 1, {"default"}, "default") == Strings{});
  one.before_wait();
  BOOST_TEST(!waits(one));  // no job of a sequence has come yet
  redis.command({"HSET", "brood:waits:default", "", "1"});
  one.before_wait();
  BOOST_TEST(waits(one));
  for (const char* const jid : {"a", "b", "c"}) push(job(jid, "s"));
  one.held = {
      *read_arrived(connection.call(wait_on_queue(identity, one.field(), "default", std::chrono::seconds(1))).view())};
  BOOST_TEST(three.fetch() == Strings{});
  BOOST_TEST(three.last.has_more_soon);
  BOOST_TEST(one.after_wait().nothing);
  BOOST_TEST(!waits(one));
  BOOST_TEST(three.fetch() == Strings{});
  BOOST_TEST(!three.last.has_more_soon);
  BOOST_TEST(waiting("s") == (Strings{"b", "c"}), boost::test_tools::per_element());
  BOOST_TEST(redis.integer({"TTL", "brood:waits:default"}) > 3'600);
}

BOOST_FIXTURE_TEST_CASE(a_job_that_was_pushed_twice_holds_up_no_other_sequence, Site) {
  redis.command({"HSET", "brood:waits:default", "", "1"});
  Worker one = worker(1), two = worker(2), three = worker(3);
  push(job("a", "s"));
  push(job("a", "s"));
  push(job("b", "s"));
  BOOST_TEST(one.fetch() == Strings{"a"});
  BOOST_TEST(two.fetch() == Strings{"a"});
  BOOST_TEST(three.fetch() == Strings{});
  BOOST_TEST(one.done() == Strings{"b"});
  push(job("x", "t"));
  BOOST_TEST(three.fetch() == Strings{"x"});  // though the second "a" runs without its turn
  BOOST_TEST(!three.last.has_more_soon);
}

BOOST_FIXTURE_TEST_CASE(a_fetch_behind_a_wait_leaves_sequences_to_the_next_settle, Site) {
  Worker one = worker(1);
  BOOST_TEST(one.settle({}, 1, {"default", "other"}, "default") == Strings{});
  push(R"({"class":"C","args":[],"queue":"other","jid":"free"})", "other");
  push(job("a", "s", "", "other"), "other");
  const Settled fetched = one.after_wait({"default", "other"});
  BOOST_TEST(fetched.payloads.size() == 1u);
  one.number = fetched.number;
  one.queue = fetched.queue;
  one.held = fetched.payloads;
  BOOST_TEST(one.settle({{}}, 0, {}, "default") == Strings{});
  BOOST_TEST(one.after_wait({"default", "other"}).has_more);
  BOOST_TEST(one.settle({}, 1, {"default", "other"}) == Strings{"a"});
}

BOOST_FIXTURE_TEST_CASE(a_sequence_whose_holder_is_lost_goes_on_behind_those_that_wait, Site) {
  Worker one = worker(1), two = worker(2);
  for (const char* const jid : {"a", "b"}) push(job(jid, "s"));
  BOOST_TEST(one.fetch() == Strings{"a"});
  BOOST_TEST(two.fetch() == Strings{});
  redis.command({"DEL", "brood:sequences"});
  push(job("c", "s"));
  BOOST_TEST(two.fetch() == Strings{});  // "a" still runs
  BOOST_TEST(one.settle({{}}, 0) == Strings{});
  BOOST_TEST(two.fetch() == Strings{"b"});
  BOOST_TEST(waiting("s") == Strings{"c"});
}

BOOST_FIXTURE_TEST_CASE(a_key_of_another_type_stops_no_worker, Site) {
  Worker one = worker(1);
  redis.command({"SET", "brood:sequences", "x"});
  push(job("a", "s"));
  BOOST_TEST(one.fetch() == Strings{"a"});
  BOOST_TEST((one.enter("s", "a") == Taken::no_lock));
  BOOST_TEST(one.done() == Strings{});
}

namespace {

struct Watched : LoopWithRedis {
  Connection plain{redis.address()};
  SequenceWatch watch{loop,
                      connection,
                      "host:1:0123456789ab",
                      {.between_looks = 20ms, .between_pages = 1ms, .held_for = 50ms, .between_searches = 100ms}};

  void hold(const std::string& sequence, const std::string& jid) {
    redis.command({"HSET", "brood:sequences", sequence, "5 " + jid});
    redis.command({"RPUSH", "brood:sequence:" + sequence, job("next of " + sequence, sequence)});
  }
  bool has_moved(const std::string& sequence) {
    return redis.hget("brood:sequences", sequence).value_or("").ends_with(" next of " + sequence);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_sequence_whose_holder_was_deleted_elsewhere_goes_on, Watched) {
  hold("lost", "j1");
  hold("killed", "j2");
  redis.command({"ZADD", "dead", "5", job("j2", "killed")});
  hold("retried", "j3");
  redis.command({"ZADD", "retry", "5", job("j3", "retried")});
  hold("queued", "j4");
  redis.command({"SADD", "queues", "far"});
  redis.command({"LPUSH", "queue:far", job("j4", "queued")});
  hold("held", "j5");
  redis.command({"HSET", "brood:processes", identity, "{}"});
  redis.command({"HSET", keys::in_flight_hash(identity), "0.1", "7 default"});
  redis.command({"LPUSH", keys::in_flight_list(identity, "0.1", "default"), job("j5", "held")});
  redis.command({"HSET", "brood:sequences", "alone", "5 j6"});  // no job waits for it
  watch.start();
  BOOST_TEST(run_until([&] { return has_moved("lost") && has_moved("killed"); }));
  run_for(200ms);
  BOOST_TEST(redis.lrange("queue:default").size() == 2u);
  for (const char* const sequence : {"retried", "queued", "held"}) BOOST_TEST(!has_moved(sequence));
  redis.command({"DEL", "retry"});
  BOOST_TEST(run_until([&] { return has_moved("retried"); }));
  BOOST_TEST(!has_moved("queued"));
  watch.stop();
}

BOOST_FIXTURE_TEST_CASE(jobs_that_wait_for_no_holder_go_on, Watched) {
  for (const char* const name : {"s", "runs", "t*?"})
    redis.command({"RPUSH", "brood:sequence:" + std::string(name), job("next of " + std::string(name), name)});
  redis.command({"SET", "brood:sequence:text", "no list"});
  redis.command({"ZADD", "retry", "5", job("j1", "runs")});
  for (int i = 0; i < 3'000; ++i) redis.command({"SET", "other" + std::to_string(i), "x"});
  watch.start();
  BOOST_TEST(run_until([&] { return has_moved("s") && has_moved("t*?"); }));
  run_for(200ms);
  BOOST_TEST(!has_moved("runs"));  // it goes on when this one is fetched
  redis.command({"DEL", "retry"});
  BOOST_TEST(run_until([&] { return has_moved("runs"); }));
  watch.stop();
}

BOOST_FIXTURE_TEST_CASE(only_a_job_with_the_very_jid_of_a_holder_counts_as_it, Watched) {
  hold("s", "j1");
  redis.command({"ZADD", "retry", "5", job("j12", "s")});
  redis.command({"ZADD", "schedule", "5", R"({"class":"C","args":["j1"],"jid":"x","sequence":"s"})"});
  redis.command({"HSET", "brood:processes", identity, "{}"});
  redis.command({"HSET", keys::in_flight_hash(identity), "0.1", "7 default"});
  redis.command({"LPUSH", keys::in_flight_list(identity, "0.1", "default"), job("j12", "s"), job("j1", "other")});
  watch.start();
  BOOST_TEST(run_until([&] { return has_moved("s"); }));
  watch.stop();
}

BOOST_FIXTURE_TEST_CASE(the_watch_goes_on_with_other_sequences_where_it_may_not_write, LoopWithRedis) {
  redis.command({"ACL", "SETUSER", "some", "on", ">secret", "~brood:*", "~queues", "~retry", "~schedule",
                 "~queue:default", "+@all"});
  RedisAddress address = redis.address();
  address.user = "some";
  address.password = Secret("secret");
  AsyncConnection limited{loop.raw(), "limited", {}};
  limited.open(address);
  BOOST_REQUIRE(run_until([&] { return limited.connected(); }));
  redis.command({"SADD", "queues", "default", "private"});
  redis.command({"LPUSH", "queue:private", "{}"});
  for (const char* const queue : {"private", "default"}) {
    redis.command({"HSET", "brood:sequences", queue, "5 lost"});
    redis.command({"RPUSH", "brood:sequence:" + std::string(queue), job("next", queue, "", queue)});
  }
  const TemporaryDirectory directory;
  log::open({.file = directory / "log"});
  const auto is_logged = [&](const std::string& words) {
    log::flush();
    return text_of_file(directory / "log").find(words) != std::string::npos;
  };
  SequenceWatch watch{loop, limited, identity, {.between_looks = 20ms, .between_pages = 1ms, .held_for = 50ms}};
  watch.start();
  BOOST_TEST(run_until([&] { return is_logged("~queue:private (+@read +@write)"); }));
  BOOST_TEST(redis.size_of("brood:sequence:private") == 1);
  watch.stop();
}

BOOST_FIXTURE_TEST_CASE(the_jobs_of_each_sequence_are_counted_shown_and_deleted, Site) {
  Worker one = worker(1), two = worker(2);
  for (const char* const jid : {"a", "b", "c"}) push(job(jid, "s"));
  BOOST_TEST(one.fetch() == Strings{"a"});
  BOOST_TEST(two.fetch() == Strings{});
  BOOST_TEST(jobs_waiting_in_sequences(connection) == 2);
  auto shown = read_sequence("s", connection.pipeline(ask_sequence("s", 10)));
  BOOST_REQUIRE(shown.has_value());
  BOOST_TEST(shown->state.holder == "a");
  BOOST_TEST((shown->state.since > WallTime{}));
  BOOST_TEST(shown->state.waiting == 2);
  BOOST_TEST(connection.run(remove_waiting("s", shown->waiting.at(0))).view().integer() == 1);
  BOOST_TEST(connection.run(remove_waiting("s", shown->waiting.at(0))).view().integer() == 0);
  BOOST_TEST(one.done() == Strings{"c"});
  BOOST_TEST(one.done() == Strings{});
  BOOST_TEST(!read_sequence("s", connection.pipeline(ask_sequence("s", 10))).has_value());
}

BOOST_FIXTURE_TEST_CASE(a_client_pushes_what_the_options_of_a_call_say, Site) {
  Client client(redis.url());
  client.push({.job_class = "C", .members = {{"sequence", R"("s")"}, {"if_failed", R"("pass")"}}});
  const std::string pushed = redis.lrange("queue:default").at(0);
  BOOST_TEST(sequence_named_by(pushed)->name == "s");
  BOOST_TEST(sequence_named_by(pushed)->lets_pass);
  for (const auto& [name, json] :
       std::vector<std::pair<std::string, std::string>>{{"sequence", "5"},
                                                        {"sequence", R"("")"},
                                                        {"sequence", '"' + std::string(256, 'x') + '"'},
                                                        {"if_failed", R"("later")"}})
    BOOST_CHECK_THROW(client.push({.job_class = "C", .members = {{name, json}}}), std::invalid_argument);
}
