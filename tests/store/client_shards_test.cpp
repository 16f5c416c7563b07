#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "shared/api/opening.hpp"
#include "shared/api/push/shard_choice.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/shard_of_key.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/redis_stats.hpp"
#include "tests/support/shard_servers.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Bill {
  int number = 0;
  static constexpr std::string_view job_class = "Bill";
  void perform() {}
};

Client client_of(const ShardServers& shards, const std::string& own_shard = "") {
  return detail::Opening::client(
      {.shards = shards.addresses(), .dead = {}, .own_shard = [own_shard] { return own_shard; }});
}

std::size_t shard_of(const ShardServers& shards, const std::string& key) {
  std::vector<std::string> names;
  for (const RedisAddress& address : shards.addresses()) names.push_back(address.shard);
  return shard_of_key(names, key);
}

constexpr const char* queue = "queue:default";

// All payloads of all shards.
std::multiset<std::string> payloads(ShardServers& shards) {
  std::multiset<std::string> all;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (std::string& payload : shards[i].lrange(queue)) all.insert(std::move(payload));
  }
  return all;
}

template <typename Push>
std::string refusal_of(Push push) {
  try {
    push();
  } catch (const RedisError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(pushes_take_turns_among_the_shards) {
  ShardServers shards(3);
  Client client = client_of(shards);
  for (int i = 0; i < 9; ++i) client.enqueue(Bill{i});
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(shards[i].size_of(queue) == 3U);
  BOOST_TEST(shards[0].smembers("queues").size() == 1U);
}

BOOST_AUTO_TEST_CASE(jobs_of_one_key_are_in_one_shard_and_no_payload_tells) {
  ShardServers shards(3);
  for (int i = 0; i < 4; ++i)
    client_of(shards).enqueue(Bill{i}, {.shard_by = "tenant-7"});  // clients of several programs
  const std::size_t its = shard_of(shards, "tenant-7");
  BOOST_TEST(shards[its].size_of(queue) == 4U);
  BOOST_TEST(shards.size_of(queue) == 4U);
  BOOST_TEST(shards[its].lrange(queue).front().find("tenant") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(jobs_for_later_go_by_the_key_too) {
  ShardServers shards(3);
  Client client = client_of(shards);
  client.enqueue_in(10min, Bill{}, {.shard_by = "tenant-8"});
  BOOST_TEST(shards[shard_of(shards, "tenant-8")].size_of("schedule") == 1U);
}

BOOST_AUTO_TEST_CASE(a_bulk_goes_slice_by_slice_and_keeps_its_order_within_each) {
  ShardServers shards(2);
  Client client = client_of(shards);
  const std::vector<std::string> jids = client.enqueue_bulk(std::vector<Bill>(4000));
  BOOST_TEST(std::set<std::string>(jids.begin(), jids.end()).size() == 4000U);
  std::size_t first = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<std::string> there = shards[i].lrange(queue);
    BOOST_REQUIRE(there.size() == 2000U);
    // The last pushed is at the head.
    if (there.back().find(jids[0]) != std::string::npos) first = i;
  }
  const std::vector<std::string> there = shards[first].lrange(queue);
  for (std::size_t i = 0; i < 1000; ++i) BOOST_REQUIRE(there[1999 - i].find(jids[i]) != std::string::npos);
  for (std::size_t i = 0; i < 1000; ++i) BOOST_REQUIRE(there[999 - i].find(jids[2000 + i]) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_bulk_of_many_keys_goes_where_each_says) {
  ShardServers shards(3);
  std::vector<Push> jobs;
  for (int i = 0; i < 300; ++i)
    jobs.push_back({.job_class = "Bill", .jid = "j" + std::to_string(i), .shard_by = "key-" + std::to_string(i)});
  client_of(shards).push_bulk(jobs);
  BOOST_TEST(shards.size_of(queue) == 300U);
  for (int i = 0; i < 300; i += 37) {
    const auto there = shards[shard_of(shards, "key-" + std::to_string(i))].lrange(queue);
    BOOST_TEST(std::count_if(there.begin(), there.end(), [&](const std::string& payload) {
                 return payload.find("\"j" + std::to_string(i) + "\"") != std::string::npos;
               }) == 1);
  }
}

BOOST_AUTO_TEST_CASE(nothing_new_is_pushed_into_a_shard_that_is_drained) {
  ShardServers shards(3);
  std::vector<RedisAddress> addresses = shards.addresses();
  addresses[1].is_drained = true;
  // A job of that shard enqueues, too.
  Client client = detail::Opening::client({.shards = addresses, .dead = {}, .own_shard = [] { return "b"; }});
  for (int i = 0; i < 12; ++i) client.enqueue(Bill{i});
  for (int i = 0; i < 30; ++i) client.enqueue(Bill{i}, {.shard_by = "tenant-" + std::to_string(i)});
  client.enqueue_bulk(std::vector<Bill>(3000));
  client.enqueue_in(10min, Bill{});
  for (int i = 0; i < 30; ++i)
    detail::Opening::push_once(client, {.job_class = "Bill", .jid = "once-" + std::to_string(i)});
  BOOST_TEST(shards.size_of(queue) == 12U + 30U + 3000U + 30U);
  BOOST_TEST(shards.size_of("schedule") == 1U);
  BOOST_TEST(shards[1].size_of(queue) == 0U);
  BOOST_TEST(shards[1].size_of("schedule") == 0U);
  for (const std::size_t i : {0U, 2U}) BOOST_TEST(shards[i].size_of(queue) > 1000U);
}

BOOST_AUTO_TEST_CASE(the_keys_of_other_shards_stay_where_they_are_when_one_is_drained) {
  ShardServers shards(3);
  std::vector<RedisAddress> addresses = shards.addresses();
  addresses[1].is_drained = true;
  Client client = detail::Opening::client({.shards = addresses, .dead = {}});
  for (int i = 0; i < 40; ++i) {
    const std::string key = "tenant-" + std::to_string(i);
    const std::size_t its = shard_of(shards, key);
    if (its == 1) continue;
    const std::size_t before = shards[its].size_of(queue);
    client.enqueue(Bill{i}, {.shard_by = key});
    BOOST_TEST(shards[its].size_of(queue) == before + 1);
  }
}

BOOST_AUTO_TEST_CASE(a_client_of_a_drained_shard_alone_may_not_push_but_cancel) {
  ShardServers shards(1);
  const std::string jid = client_of(shards).enqueue_in(10min, Bill{});
  std::vector<RedisAddress> addresses = shards.addresses();
  addresses[0].is_drained = true;
  Client client = detail::Opening::client({.shards = addresses, .dead = {}});
  BOOST_TEST(refusal_of([&] { client.enqueue(Bill{}); }).find("the shard a is drained") != std::string::npos);
  BOOST_TEST(refusal_of([&] {
               detail::Opening::push_once(client, {.job_class = "Bill", .jid = "once"});
             }).find("the shard a is drained") != std::string::npos);
  BOOST_TEST(shards.size_of(queue) == 0U);
  client.cancel_iteration("0123456789");
  BOOST_TEST(client.cancel(jid));
}

BOOST_AUTO_TEST_CASE(a_killed_shard_costs_no_push_an_error_and_is_used_again_when_it_is_back) {
  ShardServers shards(3, {.append_only = true});
  Client client = client_of(shards);
  std::set<std::string> jids;
  for (int i = 0; i < 6; ++i) jids.insert(client.enqueue(Bill{i}));
  shards[1].kill9();
  const SteadyTime began = steady_now();
  for (int i = 0; i < 300; ++i) jids.insert(client.enqueue(Bill{i}));
  BOOST_TEST((steady_now() - began < 60s));  // and not the time to connect each
  shards[1].restart();
  BOOST_TEST(eventually(
      [&] {
        jids.insert(client.enqueue(Bill{}));
        return shards[1].size_of(queue) > 3;
      },
      10s));
  BOOST_TEST(payloads(shards).size() == jids.size());
}

BOOST_AUTO_TEST_CASE(a_stopped_shard_is_found_out_within_a_second_before_anything_is_risked_on_it) {
  ShardServers shards(2);
  shards[0].pause();
  Client client = client_of(shards);
  const SteadyTime began = steady_now();
  for (int i = 0; i < 4; ++i) client.enqueue(Bill{i});
  BOOST_TEST((steady_now() - began < 4s));
  BOOST_TEST(shards[1].size_of(queue) == 4U);
  shards[0].resume();
  BOOST_TEST(shards[0].size_of(queue) == 0U);
}

BOOST_AUTO_TEST_CASE(a_shard_that_takes_no_writes_is_passed_over) {
  ShardServers shards(2);
  shards[0].command({"CONFIG", "SET", "maxmemory", "1"});
  Client client = client_of(shards);
  for (int i = 0; i < 10; ++i) client.enqueue(Bill{i});
  BOOST_TEST(shards[1].size_of(queue) == 10U);
}

BOOST_AUTO_TEST_CASE(a_shard_that_wants_another_password_is_passed_over) {
  ShardServers shards(2);
  shards[0].command({"CONFIG", "SET", "requirepass", "other"});
  const std::string user = shards[0].user();
  if (!user.empty()) shards[0].command({"ACL", "SETUSER", user, "resetpass", ">other"});
  Client client = client_of(shards);
  for (int i = 0; i < 4; ++i) client.enqueue(Bill{i});
  BOOST_TEST(shards[1].size_of(queue) == 4U);
}

BOOST_AUTO_TEST_CASE(a_job_library_pushes_to_where_its_worker_is_by_now) {
  ShardServers shards(3);
  std::string now = "b";
  Client client = detail::Opening::client({.shards = shards.addresses(), .dead = {}, .own_shard = [&] { return now; }});
  client.enqueue(Bill{});
  now = "c";
  client.enqueue(Bill{});
  client.enqueue(Bill{});
  BOOST_TEST(shards[1].size_of(queue) == 1U);
  BOOST_TEST(shards[2].size_of(queue) == 2U);
}

BOOST_AUTO_TEST_CASE(a_key_waits_for_its_own_shard_and_goes_to_no_other) {
  ShardServers shards(2);
  const std::size_t its = shard_of(shards, "tenant-7");
  shards[its].kill9();
  Client client = client_of(shards);
  BOOST_TEST(refusal_of([&] { client.enqueue(Bill{}, {.shard_by = "tenant-7"}); }).find("Redis at unix://") == 0U);
  BOOST_TEST(shards[1 - its].size_of(queue) == 0U);
}

BOOST_AUTO_TEST_CASE(one_push_connects_to_one_shard_and_to_no_other) {
  ShardServers shards(3);
  std::vector<std::size_t> before;
  for (std::size_t i = 0; i < 3; ++i) before.push_back(connections_of(shards[i]));
  client_of(shards).enqueue(Bill{});
  client_of(shards).enqueue(Bill{}, {.shard_by = "tenant-7"});
  std::size_t connections = 0;
  for (std::size_t i = 0; i < 3; ++i) connections += connections_of(shards[i]) - before[i];
  BOOST_TEST(connections == 2U);
}

BOOST_AUTO_TEST_CASE(times_are_spelled_for_the_fleet_of_the_shard_where_the_job_goes) {
  ShardServers shards(2);
  const std::size_t old = shard_of(shards, "tenant-7");
  const std::string identity = "h:1:0123456789ab";
  shards[old].command({"SADD", "processes", identity});
  shards[old].command({"HSET", identity, "info",
                       R"({"hostname":"h","started_at":1.5,"pid":1,"tag":"","concurrency":1,"queues":["default"],)"
                       R"("labels":[],"identity":"h:1:0123456789ab"})"});
  Client client = client_of(shards);
  client.enqueue(Bill{}, {.shard_by = "tenant-7"});
  const std::string payload = shards[old].lrange(queue).front();
  const std::size_t at = payload.find("\"created_at\":") + 13;
  BOOST_TEST(payload.substr(at, 11).find('.') == 10U, payload);  // seconds, as Sidekiq 6 writes them

  shards[old].command({"HSET", identity, "info", R"({"version":"8.1.7","queues":["default"]})"});
  client_of(shards).enqueue(Bill{}, {.shard_by = "tenant-7"});
  const std::string of_8 = shards[old].lrange(queue).front();
  BOOST_TEST(of_8.substr(at, 14).find_first_not_of("0123456789") == 13U, of_8);
}

BOOST_AUTO_TEST_CASE(a_push_that_no_replica_confirms_goes_to_no_other_shard) {
  ShardServers shards(2);
  std::vector<RedisAddress> addresses = shards.addresses();
  for (RedisAddress& address : addresses) address.wait = {.replicas = 1, .timeout = 50ms};
  Client client = detail::Opening::client({.shards = addresses, .dead = {}});
  BOOST_CHECK_THROW(client.enqueue(Bill{}), NotConfirmed);
  BOOST_TEST(shards.size_of(queue) == 1U);

  Client keeps = detail::Opening::client({.shards = addresses, .dead = {}});
  keeps.buffer({.at_end = 1ms});
  keeps.enqueue(Bill{});
  BOOST_TEST(keeps.buffered() == 1U);
  BOOST_TEST(shards.size_of(queue) == 2U);
}

BOOST_AUTO_TEST_CASE(when_all_are_away_the_error_names_each) {
  ShardServers shards(2);
  shards[0].kill9();
  shards[1].kill9();
  Client client = client_of(shards);
  const std::string why = refusal_of([&] { client.enqueue(Bill{}); });
  BOOST_TEST(why.find("no shard takes pushes: ") == 0U, why);
  BOOST_TEST(why.find("a: Redis at") != std::string::npos, why);
  BOOST_TEST(why.find("b: Redis at") != std::string::npos, why);
}

BOOST_AUTO_TEST_CASE(a_key_that_its_queue_refuses_is_refused_everywhere_and_not_moved_on) {
  ShardServers shards(2);
  for (std::size_t i = 0; i < 2; ++i) shards[i].command({"SET", queue, "no list"});
  Client client = client_of(shards);
  BOOST_TEST(refusal_of([&] { client.enqueue(Bill{}); }).find("WRONGTYPE") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_buffer_keeps_only_what_no_shard_takes) {
  ShardServers shards(2);
  const std::size_t its = shard_of(shards, "tenant-7"), other = 1 - its;
  Client client = client_of(shards);
  client.buffer();
  shards[its].kill9();
  for (int i = 0; i < 5; ++i) client.enqueue(Bill{i});
  BOOST_TEST(client.buffered() == 0U);
  BOOST_TEST(shards[other].size_of(queue) == 5U);
  for (int i = 0; i < 3; ++i) client.enqueue(Bill{i}, {.shard_by = "tenant-7"});
  BOOST_TEST(client.buffered() == 3U);
  shards[other].kill9();
  client.enqueue(Bill{9});
  BOOST_TEST(client.buffered() == 4U);
  shards[its].restart();
  shards[other].restart();
  BOOST_TEST(client.drain(5s) == 0U);
  BOOST_TEST(shards.size_of(queue) == 4U);  // the servers keep nothing over a restart
  BOOST_TEST(shards[its].size_of(queue) >= 3U);
}

BOOST_AUTO_TEST_CASE(a_client_that_ends_waits_once_for_all_its_shards) {
  ShardServers shards(3);
  for (std::size_t i = 0; i < 3; ++i) shards[i].kill9();
  const SteadyTime began = steady_now();
  {
    Client client = client_of(shards);
    client.buffer({.at_end = 2s});
    for (int i = 0; i < 30; ++i) client.enqueue(Bill{i}, {.shard_by = std::to_string(i)});
    BOOST_TEST(client.buffered() == 30U);
  }
  BOOST_TEST((steady_now() - began < 5'500ms));  // three waits would be six seconds
}

BOOST_AUTO_TEST_CASE(in_a_job_pushes_stay_in_its_shard_while_that_answers) {
  ShardServers shards(3);
  Client client = client_of(shards, "b");
  for (int i = 0; i < 6; ++i) client.enqueue(Bill{i});
  BOOST_TEST(shards[1].size_of(queue) == 6U);
  client.enqueue(Bill{}, {.shard_by = "tenant-7"});
  BOOST_TEST(shards.size_of(queue) == 7U);
  shards[1].kill9();
  for (int i = 0; i < 6; ++i) client.enqueue(Bill{i});
  BOOST_TEST(shards[0].size_of(queue) + shards[2].size_of(queue) >= 6U);
}

BOOST_AUTO_TEST_CASE(a_scheduled_job_is_cancelled_wherever_it_is) {
  ShardServers shards(3);
  Client client = client_of(shards);
  std::vector<std::string> jids;
  const auto time = std::chrono::system_clock::now() + 1h;
  for (int i = 0; i < 6; ++i) jids.push_back(client.enqueue_at(time, Bill{i}));
  BOOST_TEST(shards[1].size_of("schedule") == 2U);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(client.cancel(jids[i]));
  for (std::size_t i = 3; i < 6; ++i) BOOST_TEST(client.cancel(jids[i], time));
  BOOST_TEST(shards.size_of("schedule") == 0U);
  BOOST_TEST(!client.cancel(jids[0]));
  shards[2].kill9();
  BOOST_TEST(refusal_of([&] { client.cancel(jids[0]); }) != "");  // it might be there
}

BOOST_AUTO_TEST_CASE(an_iterable_job_is_cancelled_in_every_shard) {
  ShardServers shards(2);
  const auto when = client_of(shards).cancel_iteration("0123456789abcdef01234567");
  BOOST_TEST(std::abs(std::chrono::duration<double>(when - std::chrono::system_clock::now()).count()) < 60);
  for (std::size_t i = 0; i < 2; ++i)
    BOOST_TEST(shards[i].hget("it-0123456789abcdef01234567", "cancelled").has_value());
}

BOOST_AUTO_TEST_CASE(a_forked_child_has_connections_of_its_own) {
  ShardServers shards(2);
  Client client = client_of(shards);
  client.enqueue(Bill{});
  client.enqueue(Bill{});
  ForkedChild child([&] {
    for (int i = 0; i < 10; ++i) client.enqueue(Bill{i});
    return true;
  });
  for (int i = 0; i < 10; ++i) client.enqueue(Bill{i});
  BOOST_TEST(child.was_well());
  BOOST_TEST(shards[0].size_of(queue) == 11U);
  BOOST_TEST(shards[1].size_of(queue) == 11U);
}

BOOST_AUTO_TEST_CASE(several_threads_push_to_several_shards_at_once) {
  ShardServers shards(3);
  Client client = client_of(shards);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) client.enqueue(Bill{i});
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(shards.size_of(queue) == 400U);
}
