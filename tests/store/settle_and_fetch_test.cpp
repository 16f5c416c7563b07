#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using Strings = std::vector<std::string>;

namespace {

const std::string identity = "host:1:0123456789ab";
const std::string field = "2.17";
const std::string hash = keys::in_flight_hash(identity).name();
const WallTime now{std::chrono::seconds(1'800'000'000)};

std::string list_of(const std::string& queue) { return keys::in_flight_list(identity, field, queue).name(); }

// A registered worker on a Redis of its own.
struct Worker {
  RedisServer server;
  Connection redis{server.address()};
  Settlement next;

  explicit Worker(bool registered = true) {
    next.identity = identity;
    next.field = field;
    next.draw = {"a", "b"};
    next.want = 1;
    if (registered) redis.run(register_incarnation(identity, "{}", field));
  }

  void push(const std::string& queue, const Strings& payloads) {
    for (const std::string& payload : payloads) redis.call({"LPUSH", keys::queue(queue), payload});
  }
  Reply answer() { return redis.run(settle_and_fetch(next, now)); }
  std::string error() { return std::string(answer().view().error()); }

  // Sends `next`, and then sets what the worker would send after the answer.
  Settled settle() {
    const Settled settled = read_settled(answer().view());
    next.number = settled.number;
    next.held_queue = settled.queue;
    next.outcomes.clear();
    return settled;
  }
  void hold(const Strings& payloads) {
    push("a", payloads);
    next.want = static_cast<int>(payloads.size());
    BOOST_REQUIRE(settle().payloads == payloads);
  }
  std::string held() { return server.hget(hash, field).value_or("no field"); }
};

Outcome outcome(Outcome::Kind kind, const std::string& payload = "", double score = 0) {
  return {kind, payload, score};
}

}  // namespace

BOOST_AUTO_TEST_CASE(registering_twice_changes_nothing) {
  Worker worker;
  worker.hold({"x"});

  const Reply reply = worker.redis.run(register_incarnation(identity, "{}", field));

  BOOST_TEST(reply.view().text() == "1 a");
  BOOST_TEST(worker.server.hgetall("brood:processes").at(identity) == "{}");
}

BOOST_AUTO_TEST_CASE(registering_is_refused_where_a_key_has_another_type) {
  Worker worker(false);
  worker.redis.call({"SET", "brood:processes", "x"});

  const Reply reply = worker.redis.run(register_incarnation(identity, "{}", field));

  BOOST_TEST(reply.view().error() == "WRONGTYPE brood:processes is a string");
  BOOST_TEST(!worker.server.hget(hash, field));
}

BOOST_AUTO_TEST_CASE(the_oldest_job_of_the_first_queue_that_has_one_is_fetched) {
  Worker worker;
  worker.push("b", {"old", "new"});

  const Settled settled = worker.settle();

  BOOST_TEST(!settled.fenced);
  BOOST_TEST(settled.number == 1u);
  BOOST_TEST(settled.queue == "b");
  BOOST_TEST(settled.payloads == Strings{"old"}, boost::test_tools::per_element());
  BOOST_TEST(worker.server.lrange("queue:b") == Strings{"new"}, boost::test_tools::per_element());
  BOOST_TEST(worker.server.lrange(list_of("b")) == Strings{"old"}, boost::test_tools::per_element());
  BOOST_TEST(worker.held() == "1 b");
}

BOOST_AUTO_TEST_CASE(a_batch_comes_oldest_first_and_lies_with_the_oldest_at_the_tail) {
  Worker worker;
  worker.push("a", {"1", "2", "3", "4"});
  worker.next.want = 3;

  BOOST_TEST(worker.settle().payloads == (Strings{"1", "2", "3"}), boost::test_tools::per_element());
  BOOST_TEST(worker.server.lrange(list_of("a")) == (Strings{"3", "2", "1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_batch_ends_at_a_megabyte_but_has_at_least_one_job) {
  Worker worker;
  const std::string large(2 << 20, 'L'), half(600'000, 'h'), small = "s";
  worker.push("a", {large, half, small, half, small});
  worker.next.want = 10;

  BOOST_TEST((worker.settle().payloads == Strings{large}));
  worker.next.outcomes = {{}};
  BOOST_TEST((worker.settle().payloads == Strings{half, small}));
  worker.next.outcomes = {{}, {}};
  BOOST_TEST((worker.settle().payloads == Strings{half, small}));
  BOOST_TEST(worker.server.size_of("queue:a") == 0u);
  worker.push("a", {small, half, half, small});  // the size of the first does not predict the others
  worker.next.outcomes = {{}, {}};
  BOOST_TEST((worker.settle().payloads == Strings{small, half}));
  worker.next.outcomes = {{}, {}};
  BOOST_TEST((worker.settle().payloads == Strings{half, small}));
}

BOOST_AUTO_TEST_CASE(a_poll_that_finds_nothing_writes_nothing) {
  Worker worker;
  worker.redis.call({"CONFIG", "RESETSTAT"});

  const Settled settled = worker.settle();

  BOOST_TEST(!settled.fenced);
  BOOST_TEST(settled.number == 0u);
  BOOST_TEST(settled.payloads.empty());
  BOOST_TEST(worker.held() == "0 ");
  const std::string statistics(worker.redis.call({"INFO", "commandstats"}).view().text());
  BOOST_TEST(statistics.find("cmdstat_h") == statistics.find("cmdstat_hget"));
  BOOST_TEST(statistics.find("cmdstat_hset") == std::string::npos);
  BOOST_TEST(statistics.find("cmdstat_hdel") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_poll_that_names_a_queue_to_wait_on_is_counted_each_time) {
  Worker worker;
  worker.next.wait_queue = "b";

  BOOST_TEST(worker.settle().queue == "b");
  BOOST_TEST(worker.held() == "1 b");
  worker.settle();
  BOOST_TEST(worker.held() == "2 b");
  worker.next.wait_queue = "";
  worker.settle();
  BOOST_TEST(worker.held() == "3 ");
  worker.settle();
  BOOST_TEST(worker.held() == "3 ");
}

BOOST_AUTO_TEST_CASE(what_a_blocking_move_brought_is_the_batch) {
  Worker worker;
  worker.next.wait_queue = "b";
  worker.settle();
  worker.push("b", {"x"});
  worker.redis.call({"LMOVE", "queue:b", list_of("b"), "RIGHT", "LEFT"});

  const Settled settled = worker.settle();

  BOOST_TEST(settled.payloads == Strings{"x"}, boost::test_tools::per_element());
  BOOST_TEST(worker.held() == "2 b");
}

// A blocking move that came late had brought it.
BOOST_AUTO_TEST_CASE(what_is_in_the_list_already_is_of_the_batch) {
  Worker worker;
  worker.redis.call({"LPUSH", list_of("b"), "late"});
  worker.push("b", {"1", "2", "3"});
  worker.next.want = 2;
  BOOST_TEST(worker.settle().payloads == (Strings{"late", "1", "2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_fetch_behind_a_wait_brings_a_batch_like_any_other) {
  const auto fetch = [](Worker& worker) {
    worker.next.wait_queue = "w";
    worker.settle();
    return read_settled(worker.redis.run(fetch_after_wait({identity, field, 1, "w", {"a", "b"}, 2})).view()).payloads;
  };
  Worker several;
  several.push("b", {"1", "2", "3"});
  several.next.draw = {};
  BOOST_TEST(fetch(several) == (Strings{"1", "2"}), boost::test_tools::per_element());
  BOOST_TEST(several.server.lrange(list_of("b")) == (Strings{"2", "1"}), boost::test_tools::per_element());

  Worker large;
  large.push("b", {"s", std::string(2 << 20, 'L')});
  large.next.draw = {};
  BOOST_TEST(fetch(large) == Strings{"s"}, boost::test_tools::per_element());

  Worker late;  // by a blocking move
  late.redis.call({"LPUSH", list_of("a"), "late"});
  late.push("a", {"1"});
  late.push("b", {"2"});
  late.next.draw = {};
  BOOST_TEST(fetch(late) == Strings{"2"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_a_field_each_outcome_puts_its_job_where_it_belongs_too) {
  using Kind = Outcome::Kind;
  for (const bool by_age : {true, false}) {
    Worker worker(false);
    worker.redis.call({"ZADD", "dead", "1799999899", "too old", "1799999901", "a", "1799999902", "b"});
    worker.push("a", {"waits"});
    for (const char* job : {"1", "2", "3", "4", "5", "6"}) worker.redis.call({"LPUSH", list_of("a"), job});
    LostSettlement lost{identity, field, "a", {}, {.max_jobs = by_age ? 100 : 3, .timeout_seconds = 100'000}, {}};
    if (by_age) lost.dead_limits.timeout_seconds = 100;
    lost.performed = {{"1", {}},
                      {"2", outcome(Kind::requeue_back)},
                      {"3", outcome(Kind::requeue_head)},
                      {"4", outcome(Kind::quarantine, "4p", 5)},
                      {"5", outcome(Kind::move_to_dead, "5d", 1'800'000'000)}};

    worker.redis.run(settle_without_field(lost, now));

    BOOST_TEST(worker.server.lrange("queue:a") == (Strings{"2", "waits", "3", "6"}), boost::test_tools::per_element());
    BOOST_TEST(worker.server.zrange("brood:quarantined").at(0).first == "4p");
    Strings dead;
    for (const auto& [member, score] : worker.server.zrange("dead")) dead.push_back(member);
    BOOST_TEST(dead == (by_age ? Strings{"a", "b", "5d"} : Strings{"b", "5d"}), boost::test_tools::per_element());
    BOOST_TEST(worker.server.size_of(list_of("a")) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(each_outcome_puts_its_job_where_it_belongs) {
  using Kind = Outcome::Kind;
  Worker worker;
  worker.hold({"1", "2", "3", "4", "5", "6"});
  worker.push("a", {"waits"});
  worker.next.want = 0;
  worker.next.outcomes = {outcome(Kind::acknowledge),
                          outcome(Kind::retry, "2r", 1'800'000'015.5),
                          outcome(Kind::move_to_dead, "3d", 1'800'000'000),
                          outcome(Kind::schedule, "4s", 1'800'000'001),
                          outcome(Kind::requeue_back, "5b"),
                          outcome(Kind::requeue_head, "6h")};

  const Settled settled = worker.settle();

  BOOST_TEST(settled.payloads.empty());
  BOOST_TEST(worker.held() == "2 ");
  const auto retry = worker.server.zrange("retry");
  BOOST_REQUIRE(retry.size() == 1u);
  BOOST_TEST(retry[0].first == "2r");
  BOOST_TEST(retry[0].second == 1'800'000'015.5);
  BOOST_TEST(worker.server.zrange("dead").at(0).first == "3d");
  BOOST_TEST(worker.server.zrange("schedule").at(0).first == "4s");
  BOOST_TEST(worker.server.lrange("queue:a") == (Strings{"5b", "waits", "6h"}), boost::test_tools::per_element());
  BOOST_TEST(worker.server.size_of(list_of("a")) == 0u);
}

// A job goes back as it was fetched if its outcome has no text.
BOOST_AUTO_TEST_CASE(each_job_that_goes_as_it_was_fetched_goes_by_its_place_in_the_batch) {
  using Kind = Outcome::Kind;
  Worker worker;
  worker.hold({"1", "2", "3", "4", "5", "6", "7"});
  worker.next.want = 0;
  const auto aside = [](const std::string& into) { return Outcome{Kind::beside, "", 0, into}; };
  worker.next.outcomes = {
      {}, {}, aside("a@x"), aside("a@y"), aside("a@x"), outcome(Kind::retry, "", 5), outcome(Kind::requeue_back)};

  worker.settle();

  BOOST_TEST(worker.server.lrange("queue:a@x") == (Strings{"5", "3"}), boost::test_tools::per_element());
  BOOST_TEST(worker.server.lrange("queue:a@y") == Strings{"4"}, boost::test_tools::per_element());
  BOOST_TEST(worker.server.zrange("retry").at(0).first == "6");
  BOOST_TEST(worker.server.lrange("queue:a") == Strings{"7"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_thousand_jobs_are_fetched_and_five_hundred_settled_at_most) {
  Worker worker;
  Strings payloads;
  for (int i = 0; i < 1'100; ++i) payloads.push_back(std::to_string(i));
  worker.push("a", payloads);
  worker.next.want = 2'000;
  BOOST_TEST(worker.settle().payloads.size() == 1'000u);
  const std::uint64_t number = worker.next.number;
  worker.next.outcomes.resize(501);
  BOOST_TEST(worker.settle().fenced);
  worker.next.number = number;
  worker.next.held_queue = "a";
  worker.next.outcomes.resize(500);
  BOOST_TEST(worker.settle().payloads.size() == 500u);
}

BOOST_AUTO_TEST_CASE(settling_a_part_leaves_the_rest_and_fetches_nothing) {
  Worker worker;
  worker.hold({"1", "2", "3"});
  worker.push("a", {"4"});
  worker.next.outcomes = {{}, {}};

  const Settled settled = worker.settle();

  BOOST_TEST(settled.payloads == Strings{"3"}, boost::test_tools::per_element());
  BOOST_TEST(worker.held() == "2 a");
  BOOST_TEST(worker.server.size_of("queue:a") == 1u);
}

BOOST_AUTO_TEST_CASE(a_settle_sent_again_is_applied_once) {
  Worker worker;
  worker.hold({"1"});
  worker.push("a", {"2", "3"});
  worker.next.outcomes = {outcome(Outcome::Kind::retry, "1r", 5)};

  const Settled first = read_settled(worker.answer().view());
  worker.redis.call({"DEL", "retry"});  // shows whether it is written again
  const Settled second = read_settled(worker.answer().view());

  BOOST_TEST(!first.applied_before);
  BOOST_TEST(second.applied_before);
  BOOST_TEST(second.number == first.number);
  BOOST_TEST(second.queue == "a");
  BOOST_TEST(second.payloads == Strings{"2"}, boost::test_tools::per_element());
  BOOST_TEST(worker.server.size_of("retry") == 0u);
}

BOOST_AUTO_TEST_CASE(a_settle_sent_again_with_other_queues_finds_what_the_first_fetched) {
  Worker worker;
  worker.push("b", {"x"});
  worker.answer();
  worker.next.draw = {"c"};

  BOOST_TEST(worker.settle().payloads == Strings{"x"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(any_other_number_is_fenced_and_writes_nothing) {
  Worker worker;
  worker.hold({"1"});
  worker.next.want = 0;
  worker.settle();
  for (const std::uint64_t number : {0, 3, 99}) {
    worker.next.number = number;
    worker.next.outcomes = {outcome(Outcome::Kind::retry, "1r", 5)};
    worker.next.held_queue = keys::queue("a").name().substr(6);
    BOOST_TEST(read_settled(worker.answer().view()).fenced);
  }
  BOOST_TEST(worker.held() == "2 a");
  BOOST_TEST(worker.server.lrange(list_of("a")) == Strings{"1"}, boost::test_tools::per_element());
  BOOST_TEST(worker.server.size_of("retry") == 0u);
}

BOOST_AUTO_TEST_CASE(without_a_field_it_is_fenced) {
  Worker worker(false);
  worker.push("a", {"1"});
  BOOST_TEST(worker.settle().fenced);
  BOOST_TEST(worker.server.size_of("queue:a") == 1u);
}

BOOST_AUTO_TEST_CASE(more_outcomes_than_jobs_are_fenced) {
  Worker worker;
  worker.hold({"1"});
  worker.next.outcomes = {{}, {}};
  BOOST_TEST(worker.settle().fenced);
  BOOST_TEST(worker.server.size_of(list_of("a")) == 1u);
}

// The number belongs to another batch, which the sender does not know.
BOOST_AUTO_TEST_CASE(outcomes_of_jobs_of_another_queue_are_fenced) {
  Worker worker;
  worker.hold({"1"});
  worker.next.held_queue = "b";
  worker.next.outcomes = {{}};
  BOOST_TEST(worker.settle().fenced);
  BOOST_TEST(worker.server.size_of(list_of("a")) == 1u);
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_no_list_is_named_though_nothing_is_fetched) {
  Worker worker;
  worker.redis.call({"SET", "queue:a", "x"});
  const Settled settled = worker.settle();
  BOOST_TEST(settled.skipped == Strings{"a"}, boost::test_tools::per_element());
  BOOST_TEST(settled.number == 0u);
}

BOOST_AUTO_TEST_CASE(what_a_worker_holds_is_named_where_it_has_another_type) {
  Worker worker;
  worker.hold({"1"});
  for (const std::string& key : {list_of("a"), hash}) {
    worker.redis.call({"DEL", key});
    worker.redis.call({"SET", key, "x"});
    BOOST_TEST(worker.error() == fmt::format("WRONGTYPE {} is a string", key));
  }
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_no_list_is_skipped_and_named) {
  Worker worker;
  worker.redis.call({"SET", "queue:a", "x"});
  worker.push("b", {"1"});

  const Settled settled = worker.settle();

  BOOST_TEST(settled.skipped == Strings{"a"}, boost::test_tools::per_element());
  BOOST_TEST(settled.payloads == Strings{"1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_wrong_type_of_what_is_settled_into_refuses_the_whole_settle) {
  using Kind = Outcome::Kind;
  const std::pair<Kind, std::string> cases[] = {{Kind::retry, "retry"},
                                                {Kind::move_to_dead, "dead"},
                                                {Kind::schedule, "schedule"},
                                                {Kind::requeue_back, "queue:a"},
                                                {Kind::requeue_head, "queue:a"}};
  for (const auto& [kind, key] : cases) {
    Worker worker;
    worker.hold({"1", "2"});
    worker.redis.call({"SET", key, "x"});
    worker.next.outcomes = {{}, outcome(kind, "2x", 7)};

    BOOST_TEST(worker.error() == fmt::format("WRONGTYPE {} is a string", key));
    BOOST_TEST(worker.held() == "1 a");
    BOOST_TEST(worker.server.size_of(list_of("a")) == 2u);

    worker.redis.call({"DEL", key});
    BOOST_TEST(!worker.settle().fenced);
    BOOST_TEST(worker.held().starts_with("2 "));
  }
}

BOOST_AUTO_TEST_CASE(a_key_that_no_outcome_touches_may_have_any_type) {
  Worker worker;
  worker.hold({"1"});
  worker.redis.call({"SET", "dead", "x"});
  worker.next.outcomes = {outcome(Outcome::Kind::retry, "1r", 5)};
  BOOST_TEST(worker.settle().number == 2u);
}

BOOST_AUTO_TEST_CASE(the_dead_set_is_trimmed_by_age_and_by_size_as_sidekiq_does) {
  Worker worker;
  worker.next.dead_limits = {.max_jobs = 4, .timeout_seconds = 100};
  worker.redis.call({"ZADD", "dead", "1799999899", "too old", "1799999901", "a", "1799999902", "b", "1799999903", "c"});
  worker.hold({"1"});
  worker.next.outcomes = {outcome(Outcome::Kind::move_to_dead, "1d", 1'800'000'000)};

  worker.settle();

  // Trimming by rank keeps one less than the limit.
  Strings left;
  for (const auto& [member, score] : worker.server.zrange("dead")) left.push_back(member);
  BOOST_TEST(left == (Strings{"b", "c", "1d"}), boost::test_tools::per_element());

  worker.next.dead_limits.max_jobs = 100;
  worker.redis.call({"ZADD", "dead", "1799999899", "too old"});
  worker.hold({"2"});
  worker.next.outcomes = {outcome(Outcome::Kind::move_to_dead, "2d", 1'800'000'000)};
  worker.settle();
  BOOST_TEST(worker.server.size_of("dead") == 4u);
  BOOST_TEST(worker.server.zrange("dead").at(0).first == "b");
}

BOOST_AUTO_TEST_CASE(a_full_redis_is_drained_and_retried_into) {
  Worker worker;
  worker.push("a", {"1", "2"});
  worker.redis.call({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_REQUIRE(worker.redis.call({"LPUSH", "queue:a", "x"}).view().error().starts_with("OOM"));

  BOOST_TEST(worker.settle().payloads == Strings{"1"}, boost::test_tools::per_element());
  worker.next.outcomes = {outcome(Outcome::Kind::retry, "1r", 5)};
  BOOST_TEST(worker.settle().payloads == Strings{"2"}, boost::test_tools::per_element());
  worker.next.outcomes = {outcome(Outcome::Kind::requeue_back, "2")};
  worker.next.want = 0;
  BOOST_TEST(worker.settle().payloads.empty());
  worker.next.wait_queue = "b";
  BOOST_TEST(worker.settle().queue == "b");
  BOOST_TEST(!worker.redis.run(register_incarnation(identity, "{}", "3.18")).view().is_error());

  BOOST_TEST(worker.server.size_of("retry") == 1u);
  BOOST_TEST(worker.server.lrange("queue:a") == Strings{"2"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(payloads_are_bytes) {
  Worker worker;
  const std::string bytes("\0\xff{\"n\":1e400}\r\n", 16);
  worker.push("a", {bytes});
  BOOST_TEST((worker.settle().payloads == Strings{bytes}));
  worker.next.outcomes = {outcome(Outcome::Kind::requeue_head, bytes)};
  BOOST_TEST((worker.settle().payloads == Strings{bytes}));
}

BOOST_AUTO_TEST_CASE(queue_names_may_hold_colons_and_spaces) {
  Worker worker;
  worker.next.draw = {"x:y z"};
  worker.push("x:y z", {"1"});
  BOOST_TEST(worker.settle().queue == "x:y z");
  worker.next.outcomes = {{}};
  BOOST_TEST(worker.settle().number == 2u);
}

BOOST_AUTO_TEST_CASE(unbegun_jobs_go_back_to_the_head_in_their_order) {
  Worker worker;
  worker.hold({"1", "2", "3", "4"});
  worker.push("a", {"5"});

  BOOST_TEST(worker.redis.run(give_back(identity, field, "a", 1, 1)).view().integer() == 3);

  BOOST_TEST(worker.server.lrange("queue:a") == (Strings{"5", "4", "3", "2"}), boost::test_tools::per_element());
  BOOST_TEST(worker.server.lrange(list_of("a")) == Strings{"1"}, boost::test_tools::per_element());
  BOOST_TEST(worker.held() == "1 a");
  BOOST_TEST(worker.redis.run(give_back(identity, field, "a", 1, 1)).view().integer() == 0);
}

BOOST_AUTO_TEST_CASE(a_late_give_back_does_nothing) {
  Worker worker;
  worker.hold({"1", "2"});
  for (const auto& [number, queue] : {std::pair{0, "a"}, {2, "a"}, {1, "b"}}) {
    BOOST_TEST(worker.redis.run(give_back(identity, field, queue, number, 0)).view().integer() == 0);
  }
  BOOST_TEST(worker.server.size_of(list_of("a")) == 2u);
}

BOOST_AUTO_TEST_CASE(a_give_back_into_what_is_no_list_is_refused) {
  Worker worker;
  worker.hold({"1", "2"});
  worker.redis.call({"SET", "queue:a", "x"});
  BOOST_TEST(worker.redis.run(give_back(identity, field, "a", 1, 1)).view().error() == "WRONGTYPE queue:a is a string");
  BOOST_TEST(worker.server.size_of(list_of("a")) == 2u);
}
