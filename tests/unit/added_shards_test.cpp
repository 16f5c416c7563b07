#include <boost/test/unit_test.hpp>

#include "supervisor/restart/added_shards.hpp"

using namespace brood;

namespace {

RedisSettings shards(const std::vector<std::string>& names) {
  RedisSettings settings;
  for (const std::string& name : names) {
    ShardSettings& shard = settings.shard_list.emplace_back();
    shard.name = name;
    shard.url = "redis://" + name;
  }
  return settings;
}

bool says(const std::string& why, const std::string& what) { return why.find(what) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(shards_may_be_added_behind_those_that_are_there) {
  BOOST_TEST(why_not_served(shards({"a"}), shards({"a"})) == "");
  BOOST_TEST(why_not_served(shards({"a"}), shards({"a", "b", "c"})) == "");
  BOOST_TEST(says(why_not_served(shards({"a", "b"}), shards({"c", "a", "b"})), "a new shard comes after"));
  BOOST_TEST(says(why_not_served(shards({"a", "b"}), shards({"b", "a"})), "keep their order"));
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_there_can_neither_go_nor_move) {
  BOOST_TEST(says(why_not_served(shards({"a", "b"}), shards({"a"})), "the shard b cannot be taken out"));
  RedisSettings moved = shards({"a", "b"});
  moved.shard_list[1].url = "redis://elsewhere";
  BOOST_TEST(says(why_not_served(shards({"a", "b"}), moved), "stop it and start it again"));
}

BOOST_AUTO_TEST_CASE(one_redis_stays_where_it_is_and_does_not_become_a_shard) {
  RedisSettings one, other;
  one.url = "redis://a";
  other.url = "redis://b";
  BOOST_TEST(why_not_served(one, one) == "");
  BOOST_TEST(says(why_not_served(one, other), "stop it and start it again"));
  BOOST_TEST(says(why_not_served(RedisSettings(), shards({"a"})), "stop it and start it again"));
}

BOOST_AUTO_TEST_CASE(a_cluster_s_shards_may_become_more_and_not_fewer) {
  RedisSettings few, many;
  few.url = many.url = "cluster://a,b";
  few.shards = 16;
  many.shards = 32;
  BOOST_TEST(why_not_served(few, many) == "");
  BOOST_TEST(says(why_not_served(many, few), "cannot become fewer"));
}
