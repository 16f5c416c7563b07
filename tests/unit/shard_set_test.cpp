#include "supervisor/shards/shard_set.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

namespace {

struct InventedShard {
  int number = 0;
  bool served = true, connected = true;
  bool is_served() const { return served; }
};

ShardSet<InventedShard> shards_of(const std::vector<InventedShard>& wanted) {
  ShardSet<InventedShard> shards;
  for (const InventedShard& shard : wanted) shards.add(std::make_unique<InventedShard>(shard));
  return shards;
}

bool is_connected(const InventedShard& shard) { return shard.connected; }

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_done_in_each_shard_leaves_out_those_that_were_taken_out) {
  std::vector<int> visited;
  shards_of({{0}, {1, false}, {2}}).each([&](const InventedShard& shard) { visited.push_back(shard.number); });
  BOOST_TEST(visited == (std::vector<int>{0, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_shard_that_was_taken_out_keeps_its_number) {
  const auto shards = shards_of({{0}, {1, false}, {2}});
  BOOST_TEST(shards[1].number == 1);
  BOOST_TEST(shards.has(2));
  BOOST_TEST(!shards.has(3));
  BOOST_TEST(!shards.has(-1));
  int all = 0;
  for (const InventedShard& shard : shards) all += shard.number >= 0;
  BOOST_TEST(all == 3);
}

BOOST_AUTO_TEST_CASE(a_question_to_any_shard_is_not_answered_by_one_that_was_taken_out) {
  BOOST_TEST(!shards_of({{0, true, false}, {1, false, true}}).any(is_connected));
  BOOST_TEST(shards_of({{0, true, false}, {1, true, true}}).any(is_connected));
}

BOOST_AUTO_TEST_CASE(the_first_shard_for_which_something_holds_is_found_by_its_number) {
  const auto shards = shards_of({{0, true, false}, {1, false, true}, {2}, {3}});
  BOOST_TEST(shards.first_where(is_connected, 7) == 2);
  BOOST_TEST(shards_of({{0, true, false}}).first_where(is_connected, 7) == 7);
}
