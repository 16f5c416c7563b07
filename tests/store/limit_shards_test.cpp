#include "worker/shards/limit_shards.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/shard_servers.hpp"

using namespace brood;

namespace {

// How many of 30 limits lie in each shard, for a worker that serves the first.
std::vector<std::size_t> limits_in(ShardServers& shards, const std::vector<RedisAddress>& addresses) {
  const std::size_t served = 0;
  Connection own(addresses[served], {}, "test");
  LimitShards places(addresses, served, own, "test-limits");
  for (int i = 0; i < 30; ++i) {
    const std::string name = "limit-" + std::to_string(i);
    places.place_of(name).redis->call({"SADD", RedisKey("queues"), name});
  }
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < shards.size(); ++i) sizes.push_back(shards[i].size_of("queues"));
  return sizes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(limits_are_spread_over_all_shards) {
  ShardServers shards(3);
  for (const std::size_t size : limits_in(shards, shards.addresses())) BOOST_TEST(size > 0U);
}

BOOST_AUTO_TEST_CASE(no_limit_lies_in_a_shard_that_is_drained_not_even_of_a_worker_there) {
  ShardServers shards(3);
  std::vector<RedisAddress> addresses = shards.addresses();
  addresses[0].is_drained = true;
  const std::vector<std::size_t> sizes = limits_in(shards, addresses);
  BOOST_TEST(sizes[0] == 0U);
  BOOST_TEST(sizes[1] + sizes[2] == 30U);
}

BOOST_AUTO_TEST_CASE(no_limit_lies_in_a_place_that_is_empty) {
  ShardServers shards(3);
  std::vector<RedisAddress> addresses = shards.addresses();
  addresses[1] = RedisAddress{};
  addresses[1].shard = "b";
  addresses[1].is_empty_place = true;
  const std::vector<std::size_t> sizes = limits_in(shards, addresses);
  BOOST_TEST(sizes[1] == 0U);
  BOOST_TEST(sizes[0] + sizes[2] == 30U);
  const std::size_t served = 0;
  Connection own(addresses[served], {}, "test");
  LimitShards places(addresses, served, own, "test-limits");
  BOOST_TEST(places.shard("b") == nullptr);
  BOOST_TEST(places.shard("c") != nullptr);
}
