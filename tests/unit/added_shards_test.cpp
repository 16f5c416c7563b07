#include <boost/test/unit_test.hpp>

#include "shared/config/shard_places.hpp"
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

using Names = std::vector<std::string>;

bool says(const std::string& why, const std::string& what) { return why.find(what) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(shards_may_be_added_behind_those_that_are_there) {
  BOOST_TEST(why_not_served(shards({"a"}), shards({"a"})) == "");
  BOOST_TEST(why_not_served(shards({"a"}), shards({"a", "b", "c"})) == "");
  BOOST_TEST(says(why_not_served(shards({"a", "b"}), shards({"c", "a", "b"})), "a new shard comes after"));
  BOOST_TEST(says(why_not_served(shards({"a", "b"}), shards({"b", "a"})), "keep their order"));
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_there_does_not_move) {
  RedisSettings moved = shards({"a", "b"});
  moved.shard_list[1].url = "redis://elsewhere";
  BOOST_TEST(says(why_not_served(shards({"a", "b"}), moved), "stop it and start it again"));
}

BOOST_AUTO_TEST_CASE(one_may_be_taken_out_where_others_are_added) {
  const RedisSettings now = shards({"a", "b", "c"});
  for (const auto& names : {Names{"b", "c"}, Names{"a", "c"}, Names{"a"}, Names{"a", "c", "d"}, Names{"b", "d"}})
    BOOST_TEST(why_not_served(now, with_empty_places(now, shards(names))) == "");
  BOOST_TEST(says(why_not_served(now, with_empty_places(now, shards({"c", "a"}))), "keep their order"));
  BOOST_TEST(says(why_not_served(now, with_empty_places(now, shards({"d", "a"}))), "a new shard comes after"));
}

// A shard without a name is called by its place in the file.
BOOST_AUTO_TEST_CASE(a_shard_whose_name_would_change_with_its_place_is_to_be_given_it) {
  RedisSettings now = shards({"0", "1", "2"}), wanted = now;
  wanted.shard_list.erase(wanted.shard_list.begin());
  wanted.shard_list[0].name = "0";
  wanted.shard_list[1].name = "1";
  BOOST_TEST(
      says(why_not_served(now, with_empty_places(now, wanted)), "the shard 1 would be called 0: give it name = \"1\""));
}

BOOST_AUTO_TEST_CASE(one_redis_stays_where_it_is_and_does_not_become_a_shard) {
  RedisSettings one, other;
  one.url = "redis://a";
  other.url = "redis://b";
  BOOST_TEST(why_not_served(one, one) == "");
  BOOST_TEST(says(why_not_served(one, other), "stop it and start it again"));
  BOOST_TEST(says(why_not_served(RedisSettings(), shards({"a"})), "stop it and start it again"));
}

BOOST_AUTO_TEST_CASE(a_cluster_s_shards_may_become_more_or_fewer_and_do_not_come_back) {
  RedisSettings few, many;
  few.url = many.url = "cluster://a,b";
  few.shards = 16;
  many.shards = 32;
  BOOST_TEST(why_not_served(few, with_empty_places(few, many)) == "");
  const RedisSettings fewer = with_empty_places(many, few);
  BOOST_TEST(why_not_served(many, fewer) == "");
  BOOST_TEST(says(why_not_served(fewer, with_empty_places(fewer, many)), "come back with a stop and a start"));
}
