#include "shared/store/in_flight/caps.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/queues/set_aside.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using Strings = std::vector<std::string>;

namespace {

const std::string identity = "host:1:0123456789ab";

// A worker as the scripts know it.
struct Fetcher {
  Connection& connection;
  const std::vector<CapSettings>& caps;
  int incarnation = 0;
  std::uint64_t number = 0;
  std::string queue = {};

  std::string field() const { return "0." + std::to_string(incarnation); }
  Strings settle(int done, Strings draw, int want = 1, Outcome::Kind as = Outcome::Kind::acknowledge) {
    Settlement settlement{.identity = identity,
                          .field = field(),
                          .number = number,
                          .held_queue = queue,
                          .outcomes = {},
                          .draw = std::move(draw),
                          .want = want,
                          .wait_queue = "",
                          .dead_limits = {},
                          .caps = &caps};
    for (int i = 0; i < done; ++i) settlement.outcomes.push_back({as, "", 5, "q@k"});
    const Reply reply = connection.run(settle_and_fetch(settlement, wall_now()));
    const Settled settled = read_settled(reply.view());
    BOOST_REQUIRE(!settled.fenced);
    number = settled.number;
    queue = settled.queue;
    return settled.payloads;
  }
};

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};
  std::vector<CapSettings> caps{{"erp", {"erp", "crm"}, 1}};

  Fetcher worker(int incarnation) {
    connection.run(register_incarnation(identity, "{}", "0." + std::to_string(incarnation)));
    return {connection, caps, incarnation};
  }
  void push(const std::string& queue, const std::string& job) { redis.command({"LPUSH", "queue:" + queue, job}); }
  std::size_t held() {
    const Reply reply = connection.run(show_cap("erp"));
    return read_cap_holders(reply.view()).size();
  }
  std::vector<std::int64_t> free() {
    const Reply reply = connection.run(free_places({"erp", "crm"}, caps));
    return read_free_places(reply.view());
  }
};

const Strings all{"erp", "crm", "default"};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_job_above_the_cap_stays_in_its_queue_and_others_are_fetched, Site) {
  Fetcher one = worker(1), two = worker(2);
  for (const char* const job : {"a", "b"}) push("erp", job);
  push("crm", "c");
  push("default", "d");
  BOOST_TEST(free() == (std::vector<std::int64_t>{1, 1}));
  BOOST_TEST(one.settle(0, all) == Strings{"a"});
  BOOST_TEST(held() == 1u);
  BOOST_TEST(free() == (std::vector<std::int64_t>{0, 0}));
  BOOST_TEST(two.settle(0, all) == Strings{"d"});
  BOOST_TEST(two.settle(1, all) == Strings{});
  BOOST_TEST(redis.lrange("queue:erp") == Strings{"b"});
  const std::uint64_t before = two.number;
  BOOST_TEST(two.settle(0, all) == Strings{});
  BOOST_TEST(two.number == before);  // an idle poll writes nothing, though there are jobs
}

BOOST_FIXTURE_TEST_CASE(a_place_is_free_in_the_script_that_settles_and_may_be_taken_by_it, Site) {
  Fetcher one = worker(1), two = worker(2);
  for (const char* const job : {"a", "b", "c"}) push("erp", job);
  BOOST_TEST(one.settle(0, all) == Strings{"a"});
  BOOST_TEST(one.settle(1, all) == Strings{"b"});
  BOOST_TEST(two.settle(0, all) == Strings{});
  BOOST_TEST(one.settle(1, {}, 0, Outcome::Kind::retry) == Strings{});
  BOOST_TEST(held() == 0u);
  BOOST_TEST(two.settle(0, all) == Strings{"c"});
}

BOOST_FIXTURE_TEST_CASE(a_batch_keeps_its_place_until_all_of_it_is_settled_or_given_back, Site) {
  Fetcher one = worker(1), two = worker(2);
  for (const char* const job : {"a", "b", "c"}) push("erp", job);
  BOOST_TEST(one.settle(0, all, 10) == (Strings{"a", "b", "c"}));
  BOOST_TEST(one.settle(1, all, 10, Outcome::Kind::retry) == (Strings{"b", "c"}));
  push("erp", "d");
  BOOST_TEST(two.settle(0, all) == Strings{});
  connection.run(give_back(identity, one.field(), "erp", one.number, 0));
  BOOST_TEST(held() == 0u);
  BOOST_TEST(two.settle(0, all) == Strings{"b"});
}

BOOST_FIXTURE_TEST_CASE(a_place_is_free_in_the_script_that_recovers_its_worker_and_not_before, Site) {
  Fetcher one = worker(1), two = worker(2);
  for (const char* const job : {"a", "b"}) push("erp", job);
  one.settle(0, all);
  BOOST_TEST(two.settle(0, all) == Strings{});
  const auto as_it_is = [](const std::string& job, const std::string&) {
    return Outcome{Outcome::Kind::requeue_head, job, 0};
  };
  recover(connection, {.identity = identity, .slot = 0, .incarnation = 1, .record = std::nullopt}, {}, as_it_is,
          as_it_is);
  BOOST_TEST(held() == 0u);
  BOOST_TEST(two.settle(0, all) == Strings{"a"});
}

BOOST_FIXTURE_TEST_CASE(without_a_capped_queue_not_a_byte_more_is_sent, Site) {
  Settlement with;
  with.identity = identity;
  with.field = "0.1";
  with.draw = {"default"};
  with.want = 1;
  with.caps = &caps;
  Settlement without = with;
  without.caps = nullptr;
  const WallTime now = wall_now();
  BOOST_TEST(settle_and_fetch(with, now).command().args == settle_and_fetch(without, now).command().args);
  Fetcher one = worker(1);
  push("default", "d");
  one.settle(0, {"default"});
  BOOST_TEST(redis.keys("brood:cap*").empty());
}

BOOST_FIXTURE_TEST_CASE(caps_are_listed_with_what_was_fetched_under_them, Site) {
  Fetcher one = worker(1);
  push("erp", "a");
  one.settle(0, all);
  const Reply known = connection.call(ask_caps());
  BOOST_TEST((read_caps(known.view()) == std::map<std::string, std::int64_t>{{"erp", 1}}));
  const Reply shown = connection.run(show_cap("erp"));
  BOOST_TEST(read_cap_holders(shown.view()) == Strings{identity + "/0.1"});
}

BOOST_FIXTURE_TEST_CASE(a_job_that_is_set_aside_waits_under_its_caps_in_order, Site) {
  caps = {{"all", {"q"}, 2}, {"k", {}, 1, {"K"}}};
  const Strings draw{"q@k", "q"};
  Fetcher one = worker(1), two = worker(2), three = worker(3);
  for (const char* const job : {"k1", "k2", "j1", "j2"}) push("q", job);
  BOOST_TEST(one.settle(0, draw, 2) == (Strings{"k1", "k2"}));
  BOOST_TEST(one.settle(2, draw, 1, Outcome::Kind::beside) == Strings{"k1"});
  BOOST_TEST(one.queue == "q@k");
  BOOST_TEST(redis.lrange("queue:q@k") == Strings{"k2"});
  BOOST_TEST(redis.command({"SISMEMBER", "brood:set_aside", "q@k"}).view().integer() == 1);
  BOOST_TEST(redis.command({"SISMEMBER", "queues", "q@k"}).view().integer() == 1);
  BOOST_TEST(two.settle(0, draw) == Strings{"j1"});
  BOOST_TEST(three.settle(0, draw) == Strings{});  // two hold jobs of the queue and of what is beside it
  BOOST_TEST(one.settle(1, draw) == Strings{"k2"});
}

BOOST_FIXTURE_TEST_CASE(what_was_set_aside_goes_back_behind_what_waits_longer_and_its_queue_is_forgotten, Site) {
  const auto give_back_aside = [&](std::int64_t most) {
    return connection.run(return_set_aside("q@k", "q", most)).view().integer();
  };
  constexpr int jobs = 250;
  Strings newest_first{"waits"};
  push("q", "waits");
  for (const char* const set : {"brood:set_aside", "queues"}) redis.command({"SADD", RedisKey(set), "q@k", "q"});
  for (int i = 0; i < jobs; ++i) push("q@k", std::to_string(i));
  for (int i = jobs; i-- > 0;) newest_first.push_back(std::to_string(i));
  BOOST_TEST(give_back_aside(120) == 120);
  BOOST_TEST(redis.size_of("queue:q@k") == 130u);
  BOOST_TEST(redis.smembers("brood:set_aside") == (Strings{"q", "q@k"}), boost::test_tools::per_element());
  BOOST_TEST(give_back_aside(1'000) == 130);
  BOOST_TEST(redis.lrange("queue:q") == newest_first, boost::test_tools::per_element());
  for (const char* const set : {"brood:set_aside", "queues"})
    BOOST_TEST(redis.smembers(set) == Strings{"q"}, boost::test_tools::per_element());
  BOOST_TEST(give_back_aside(1'000) == 0);
  for (const char* const queue : {"queue:q", "queue:q@k"}) {
    redis.flush();
    push("q", "home");
    push("q@k", "aside");
    redis.command({"DEL", RedisKey(queue)});
    redis.command({"SET", RedisKey(queue), "no list"});
    BOOST_TEST(connection.run(return_set_aside("q@k", "q", 9)).view().error() ==
               "WRONGTYPE " + std::string(queue) + " is a string");
  }
}

// The worker may give them back, or die.  No worker would look for them in a forgotten queue.
BOOST_FIXTURE_TEST_CASE(a_queue_of_what_was_set_aside_is_known_as_long_as_a_worker_has_jobs_of_it, Site) {
  caps = {{"k", {}, 2, {"K"}}};
  const auto give_back_aside = [&] { return connection.run(return_set_aside("q@k", "q", 9)).view().integer(); };
  redis.command({"SADD", "brood:set_aside", "q@k"});
  push("q@k", "k1");
  push("other@k", "k2");
  Fetcher one = worker(1), two = worker(2);
  BOOST_TEST(one.settle(0, {"q@k"}) == Strings{"k1"});
  BOOST_TEST(two.settle(0, {"other@k"}) == Strings{"k2"});
  BOOST_TEST(give_back_aside() == 0);
  BOOST_TEST(redis.smembers("brood:set_aside") == Strings{"q@k"}, boost::test_tools::per_element());
  connection.run(give_back(identity, one.field(), "q@k", one.number, 0));
  BOOST_TEST(give_back_aside() == 1);
  BOOST_TEST(redis.lrange("queue:q") == Strings{"k1"}, boost::test_tools::per_element());
  BOOST_TEST(redis.smembers("brood:set_aside").empty());
  redis.command({"SADD", "brood:set_aside", "q@k"});
  redis.command({"DEL", "brood:cap:k"});
  redis.command({"SET", "brood:cap:k", "no set"});  // so that the holders are not known
  BOOST_TEST(give_back_aside() == 0);
  BOOST_TEST(redis.size_of("brood:set_aside") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_settle_that_cannot_set_aside_changes_nothing, Site) {
  caps = {{"k", {}, 1, {"K"}}};
  Fetcher one = worker(1);
  push("q", "k1");
  BOOST_TEST(one.settle(0, {"q"}) == Strings{"k1"});
  redis.command({"SET", "queue:q@k", "no list"});
  Settlement settlement{.identity = identity,
                        .field = one.field(),
                        .number = one.number,
                        .held_queue = "q",
                        .outcomes = {{Outcome::Kind::beside, "", 0, "q@k"}},
                        .draw = {},
                        .want = 0,
                        .wait_queue = "",
                        .dead_limits = {},
                        .caps = &caps};
  const Reply refused = connection.run(settle_and_fetch(settlement, wall_now()));
  BOOST_TEST(refused.view().error().starts_with("WRONGTYPE"));
  BOOST_TEST(redis.lrange("brood:inflight:" + identity + ":0.1:q") == Strings{"k1"});
}

BOOST_FIXTURE_TEST_CASE(if_the_holders_of_places_are_unknown_none_is_free, Site) {
  Fetcher one = worker(1);
  push("erp", "a");
  push("default", "d");
  redis.command({"SET", "brood:cap:erp", "no set"});
  BOOST_TEST(free() == (std::vector<std::int64_t>{0, 0}));
  BOOST_TEST(held() == 0u);
  BOOST_TEST(one.settle(0, all) == Strings{"d"});
  BOOST_TEST(redis.size_of("queue:erp") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_may_not_note_a_place_has_none_and_fetches_from_other_queues, Site) {
  Fetcher one = worker(1);
  for (const char* const queue : {"erp", "default"}) push(queue, queue);
  redis.command({"ACL", "SETUSER", "limited", "on", "nopass", "+@all", "~*", "-sadd"});
  connection.call({"AUTH", "limited", "any"});
  BOOST_TEST(one.settle(0, all) == Strings{"default"});
  BOOST_TEST(one.settle(1, all) == Strings{});
  redis.command({"ACL", "SETUSER", "limited", "+sadd", "-srem", "-expire"});  // which keep order, and no more
  BOOST_TEST(one.settle(0, all) == Strings{"erp"});
}

BOOST_FIXTURE_TEST_CASE(holders_with_empty_lists_are_forgotten_by_the_next_fetch, Site) {
  caps = {{"erp", {"erp", "crm"}, 3}};
  Fetcher one = worker(1), two = worker(2), three = worker(3);
  const auto fetch_and_settle = [&](Fetcher& fetcher, const std::string& queue) {
    push(queue, "job");
    BOOST_TEST(fetcher.settle(0, {queue}) == Strings{"job"});
    fetcher.settle(1, {}, 0);
  };
  for (Fetcher* const fetcher : {&one, &two}) {
    fetch_and_settle(*fetcher, "erp");
    BOOST_TEST(redis.size_of("brood:cap:erp") == 1u);  // one is forgotten
  }
  push("crm", "a");
  push("crm", "b");
  one.settle(0, {"crm"});
  two.settle(0, {"crm"});
  one.settle(1, {}, 0);
  two.settle(1, {}, 0);
  push("erp", "c");
  three.settle(0, {"erp"});  // two are
  BOOST_TEST(redis.smembers("brood:cap:erp") == Strings{"brood:inflight:" + identity + ":0.3:erp"},
             boost::test_tools::per_element());
  const std::int64_t known_for = redis.integer({"TTL", RedisKey("brood:cap:erp")});
  BOOST_TEST((known_for > 29 * 86'400 && known_for <= 30 * 86'400));
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_keeps_caps, Site) {
  Fetcher one = worker(1), two = worker(2);
  for (const char* const job : {"a", "b"}) push("erp", job);
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(one.settle(0, all) == Strings{"a"});
  BOOST_TEST(two.settle(0, all) == Strings{});
  BOOST_TEST(held() == 1u);
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
}
