#include "shared/store/tenants/tenants.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>

#include "shared/store/holdings.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/queues/push_commands.hpp"
#include "shared/store/tenants/tenant_look.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using Strings = std::vector<std::string>;

namespace {

const std::string identity = "host:1:0123456789ab";
const std::string turns = "brood:tenants:images", away = "brood:tenants_away:images";

// Workers that serve "images~*", on a Redis of their own.
struct Site {
  RedisServer redis;
  Connection connection{redis.address()};
  ServedTenants served{{"images~*", {}}};
  std::vector<CapSettings> caps;
  Strings draw{"images~*"};

  struct Worker {
    std::string field;
    std::uint64_t number = 0;
    std::string queue = {};
    Strings held = {};
  };
  Worker worker(int incarnation) {
    Worker one{"0." + std::to_string(incarnation)};
    connection.run(register_incarnation(identity, "{}", one.field));
    return one;
  }
  // Settles what the worker holds, and fetches.
  Strings fetch(Worker& worker, int want = 1, Outcome::Kind as = Outcome::Kind::acknowledge) {
    Settlement settlement{.identity = identity,
                          .field = worker.field,
                          .number = worker.number,
                          .held_queue = worker.queue,
                          .outcomes = std::vector<Outcome>(worker.held.size(), Outcome{as, "", 0}),
                          .draw = want > 0 ? draw : Strings{},
                          .want = want,
                          .wait_queue = "",
                          .dead_limits = {},
                          .caps = &caps,
                          .tenants = &served};
    for (const std::string& payload : worker.held) {
      if (const auto end = end_of_job(as)) append_held(settlement.let_go, payload, 0, *end);
    }
    const Reply reply = connection.run(settle_and_fetch(settlement, wall_now()));
    BOOST_REQUIRE_MESSAGE(!reply.view().is_error(), reply.view().error());
    const Settled settled = read_settled(reply.view());
    BOOST_REQUIRE(!settled.fenced);
    worker.number = settled.number;
    worker.queue = settled.queue;
    worker.held = settled.payloads;
    return settled.payloads;
  }
  // Pushes as brood's client does.
  void push(const std::string& tenant, int jobs) {
    PushCommands commands(0);
    for (int i = 0; i < jobs; ++i) commands.add("images~" + tenant, tenant);
    for (const Command& command : commands.take()) BOOST_REQUIRE(!connection.call(command).view().is_error());
  }
  Strings run(Worker& worker, int fetches, int want = 1) {
    Strings ran;
    for (int i = 0; i < fetches; ++i) {
      for (std::string& job : fetch(worker, want)) ran.push_back(std::move(job));
    }
    return ran;
  }
};

long count(const Strings& ran, const std::string& tenant) { return std::count(ran.begin(), ran.end(), tenant); }

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_tenant_with_many_jobs_delays_the_first_of_another_by_one_batch, Site) {
  Worker one = worker(1);
  push("big", 1000);
  run(one, 5, 10);
  push("small", 2);
  const Strings ran = run(one, 4, 10);
  const auto first = std::find(ran.begin(), ran.end(), "small") - ran.begin();
  BOOST_TEST(first <= 10);
  BOOST_TEST(one.queue == "images~big");
  BOOST_TEST(redis.hget("brood:inflight:" + identity, one.field).value_or("").ends_with(" images~big"));
}

BOOST_FIXTURE_TEST_CASE(tenants_take_turns_by_jobs_whatever_their_batches_are, Site) {
  Worker one = worker(1), two = worker(2);
  for (const char* const tenant : {"a", "b", "c"}) push(tenant, 300);
  Strings ran;
  for (int i = 0; i < 20; ++i) {
    for (const Strings& batch : {run(one, 1, 7), run(two, 1, 2)}) ran.insert(ran.end(), batch.begin(), batch.end());
  }
  for (const char* const tenant : {"a", "b", "c"}) BOOST_TEST(std::abs(count(ran, tenant) - 60) <= 9, tenant);
}

BOOST_FIXTURE_TEST_CASE(a_tenant_of_weight_three_has_three_times_as_many_turns, Site) {
  served["images~*"].weights = "\nacme 3\nco.x 2\n";
  Worker one = worker(1);
  for (const char* const tenant : {"acme", "b", "co.x"}) push(tenant, 300);
  const Strings ran = run(one, 120);
  BOOST_TEST(std::abs(count(ran, "acme") - 60) <= 2);
  BOOST_TEST(std::abs(count(ran, "co.x") - 40) <= 2);
}

// If a tenant got a turn at once whenever it comes back, the others would never get theirs.
BOOST_FIXTURE_TEST_CASE(a_tenant_that_is_emptied_and_filled_again_and_again_gains_nothing, Site) {
  Worker one = worker(1);
  push("zeta", 100);
  Strings ran;
  for (int i = 0; i < 60; ++i) {
    for (const char* const tenant : {"a", "b"})
      push(tenant, redis.size_of(std::string("queue:images~") + tenant) == 0 ? 1 : 0);
    for (std::string& job : run(one, 1)) ran.push_back(std::move(job));
  }
  for (const char* const tenant : {"a", "b", "zeta"}) BOOST_TEST(std::abs(count(ran, tenant) - 20) <= 2, tenant);
}

BOOST_FIXTURE_TEST_CASE(emptied_tenants_leave_no_turn_and_do_not_hide_a_filled_one, Site) {
  Worker one = worker(1);
  for (int i = 0; i < 300; ++i) push("t" + std::to_string(i), 1);
  BOOST_TEST(run(one, 300).size() == 300u);
  BOOST_TEST(redis.size_of(turns) > 0u);
  push("late", 1);
  BOOST_TEST(run(one, 1) == Strings{"late"});
  BOOST_TEST(run(one, 2).empty());
  BOOST_TEST(redis.size_of(turns) == 0u);
  BOOST_TEST(redis.keys("brood:tenants*").empty());
}

BOOST_FIXTURE_TEST_CASE(a_thousand_new_tenants_do_not_keep_those_from_their_turns_that_have_one, Site) {
  Worker one = worker(1);
  push("old", 10);
  run(one, 3);
  for (int i = 0; i < 1000; ++i) push("t" + std::to_string(i), 1);
  BOOST_TEST(count(run(one, 20), "old") >= 1);
}

BOOST_FIXTURE_TEST_CASE(a_paused_tenant_waits_and_has_its_turn_when_it_is_looked_for, Site) {
  Worker one = worker(1);
  push("a", 5);
  push("b", 5);
  redis.command({"SADD", "paused", "images~a"});
  BOOST_TEST(run(one, 7) == Strings(5, "b"));
  BOOST_TEST(redis.zrange(away).size() == 1u);
  redis.command({"SREM", "paused", "images~a"});
  connection.run(enter_filled_tenants({"images~a", "images~b"}));
  BOOST_TEST(run(one, 6) == Strings(5, "a"));
}

BOOST_FIXTURE_TEST_CASE(tenants_of_another_worker_keep_no_turn, Site) {
  served["images~*"].skipped = {"^x.*$"};
  Worker one = worker(1);
  for (int i = 0; i < 40; ++i) push("x" + std::to_string(i), 1);
  push("a", 3);
  BOOST_TEST(count(run(one, 20), "a") == 3);
  served["images~*"] = {.taken = {"^x.*$"}, .skipped = {}, .weights = ""};
  BOOST_TEST(run(one, 80).size() == 40u);
}

BOOST_FIXTURE_TEST_CASE(each_tenant_has_places_of_its_own, Site) {
  caps = {{.name = "each", .queues = {"images~*"}, .most = 2, .per_tenant = true}};
  std::vector<Worker> workers;
  for (int i = 1; i <= 6; ++i) workers.push_back(worker(i));
  push("a", 20);
  push("b", 20);
  std::map<std::string, int> held;
  for (Worker& one : workers) {
    for (const std::string& job : fetch(one)) ++held[job];
  }
  BOOST_TEST(held["a"] == 2);
  BOOST_TEST(held["b"] == 2);
  Worker& of_a =
      *std::find_if(workers.begin(), workers.end(), [](const Worker& one) { return one.queue == "images~a"; });
  BOOST_TEST(fetch(of_a, 0).empty());
  BOOST_TEST(fetch(of_a) == Strings{"a"});
  BOOST_TEST(redis.keys("brood:cap:*") == (Strings{"brood:cap:each~a", "brood:cap:each~b"}));
  BOOST_TEST((redis.hgetall("brood:caps") == std::map<std::string, std::string>{{"each", "2"}}));
}

BOOST_FIXTURE_TEST_CASE(a_cap_of_all_tenants_holds_for_them_together, Site) {
  caps = {{.name = "all", .queues = {"images~*"}, .most = 2}};
  std::vector<Worker> workers;
  for (int i = 1; i <= 4; ++i) workers.push_back(worker(i));
  for (const char* const tenant : {"a", "b", "c"}) push(tenant, 2);
  std::size_t held = 0;
  for (Worker& one : workers) held += fetch(one).size();
  BOOST_TEST(held == 2u);
  fetch(workers[0], 0);
  BOOST_TEST(fetch(workers[3]).size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(what_goes_back_to_a_tenant_has_its_turn_again, Site) {
  Worker one = worker(1), two = worker(2);
  push("a", 1);
  BOOST_TEST(fetch(one) == Strings{"a"});
  BOOST_TEST(fetch(two).empty());
  BOOST_TEST(redis.size_of(turns) == 0u);
  fetch(one, 0, Outcome::Kind::requeue_head);
  BOOST_TEST(fetch(two) == Strings{"a"});
}

BOOST_FIXTURE_TEST_CASE(a_lost_reply_is_answered_again_with_the_same_tenant, Site) {
  Worker one = worker(1);
  push("a", 1);
  const Worker before = one;
  BOOST_TEST(fetch(one) == Strings{"a"});
  Worker again = before;
  BOOST_TEST(fetch(again) == Strings{"a"});
  BOOST_TEST(again.queue == "images~a");
  BOOST_TEST(again.number == one.number);
}

BOOST_FIXTURE_TEST_CASE(names_of_tenants_that_stay_empty_are_forgotten_but_no_job_is, Site) {
  push("a", 1);
  push("b", 0);
  for (const char* const name : {"images~b", "images~c"}) redis.command({"SADD", "queues", name});
  const Strings all{"images~a", "images~b", "images~c"};
  connection.call(note_idle_tenants(all, 1'000));
  const auto asked = [&](std::int64_t now) {
    Strings names;
    for (const Command& command : ask_idle_tenants(now, 500, 100)) {
      const Reply reply = connection.call(command);
      for (std::size_t i = 0; i < reply.view().size(); ++i) names.emplace_back(reply.view()[i].text());
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  BOOST_TEST(asked(1'499).empty());
  BOOST_TEST(asked(1'500) == all);
  connection.run(forget_idle_tenants(all, 1'500));
  BOOST_TEST(redis.smembers("queues") == Strings{"images~a"});
  BOOST_TEST(asked(1'559).empty());
  redis.command({"LPUSH", "queue:images~c", "c"});  // by one that had named it before
  BOOST_TEST(asked(1'560) == (Strings{"images~b", "images~c"}));
  connection.run(forget_idle_tenants({"images~b", "images~c"}, 1'560));
  BOOST_TEST(redis.smembers("queues") == (Strings{"images~a", "images~c"}));
  BOOST_TEST(redis.size_of("brood:tenants_idle") == 0u);
  Worker one = worker(1);
  BOOST_TEST(run(one, 2).size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(jobs_of_a_tenant_in_sequence_wait_for_each_other_and_others_pass, Site) {
  const auto job = [](const std::string& jid, const std::string& more = "") {
    return R"({"class":"A","args":[],"queue":"images~a","jid":")" + jid + "\"" + more + "}";
  };
  const std::string in_sequence = R"(,"sequence":"s")";
  for (const std::string& one : {job("1", in_sequence), job("2", in_sequence), job("3")})
    redis.command({"LPUSH", "queue:images~a", one});
  connection.run(enter_filled_tenants({"images~a"}));
  Worker one = worker(1), two = worker(2);
  BOOST_TEST(fetch(one) == Strings{job("1", in_sequence)});
  BOOST_TEST(fetch(two) == Strings{job("3")});
  BOOST_TEST(two.queue == "images~a");
}

BOOST_FIXTURE_TEST_CASE(a_tenant_pays_once_for_a_job_that_waits_for_its_sequence, Site) {
  const auto job = [](const std::string& tenant, int number, const std::string& more = "") {
    return R"({"class":"A","args":[],"queue":"images~)" + tenant + R"(","jid":")" + tenant + std::to_string(number) +
           "\"" + more + "}";
  };
  for (int i = 0; i < 60; ++i) {
    redis.command({"LPUSH", "queue:images~a", job("a", i, R"(,"sequence":"s")")});
    redis.command({"LPUSH", "queue:images~b", job("b", i)});
  }
  connection.run(enter_filled_tenants({"images~a", "images~b"}));
  Worker one = worker(1);
  std::map<std::string, int> ran;
  for (int i = 0; i < 60; ++i) {
    for (const std::string& text : fetch(one, 5)) ++ran[text.find("images~a") != text.npos ? "a" : "b"];
  }
  // Each fetch from "a" brings one job, and each from "b" five.
  BOOST_TEST(std::abs(ran["a"] - ran["b"]) <= 10, "a " << ran["a"] << ", b " << ran["b"]);
}

BOOST_FIXTURE_TEST_CASE(a_place_that_one_tenant_leaves_is_another_tenants_at_once, Site) {
  caps = {{.name = "both", .queues = {"images~a", "images~b"}, .most = 1}};
  Worker one = worker(1), two = worker(2);
  push("a", 1);
  BOOST_TEST(fetch(one) == Strings{"a"});
  push("b", 1);
  BOOST_TEST(fetch(two).empty());
  BOOST_TEST(fetch(one, 0).empty());
  BOOST_TEST(fetch(two) == Strings{"b"});
}

BOOST_FIXTURE_TEST_CASE(a_cap_of_a_tenant_that_stays_full_does_not_expire, Site) {
  caps = {{.name = "each", .queues = {"images~*"}, .most = 1, .per_tenant = true}};
  Worker one = worker(1), two = worker(2);
  push("a", 2);
  BOOST_TEST(fetch(one) == Strings{"a"});
  redis.command({"EXPIRE", "brood:cap:each~a", "60"});
  BOOST_TEST(fetch(two).empty());
  BOOST_TEST(redis.integer({"TTL", "brood:cap:each~a"}) > 3'600);
}

BOOST_FIXTURE_TEST_CASE(a_cap_of_each_queue_is_listed_by_its_whole_name, Site) {
  caps = {{.name = "each.images~a", .queues = {"images~a"}, .most = 1},
          {.name = "of~b", .queues = {"images~b"}, .most = 2}};
  Worker one = worker(1), two = worker(2);
  push("a", 1);
  push("b", 1);
  fetch(one);
  fetch(two);
  BOOST_TEST((redis.hgetall("brood:caps") == std::map<std::string, std::string>{{"each.images~a", "1"}, {"of", "2"}}));
}

BOOST_FIXTURE_TEST_CASE(jobs_of_a_tenant_that_were_set_aside_count_as_its_own, Site) {
  caps = {{.name = "each", .queues = {"images~*"}, .most = 1, .per_tenant = true},
          {.name = "heavy", .queues = {}, .most = 5, .classes = {"H"}}};
  Worker one = worker(1), two = worker(2);
  push("a@heavy", 1);
  BOOST_TEST(fetch(one) == Strings{"a@heavy"});
  push("a", 1);
  BOOST_TEST(fetch(two).empty());
  BOOST_TEST(redis.keys("brood:cap:each~*") == Strings{"brood:cap:each~a"});
  BOOST_TEST(fetch(one, 0).empty());
  BOOST_TEST(fetch(two) == Strings{"a"});
}
