#include <boost/test/unit_test.hpp>

#include "shared/config/redis_location.hpp"
#include "shared/config/shard_places.hpp"
#include "supervisor/shards/known_shards.hpp"

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

RedisSettings cluster(int count) {
  RedisSettings settings;
  settings.url = "cluster://a:1";
  settings.shards = count;
  return settings;
}

const char* no_environment(const char*) { return nullptr; }

// "a - c": the place of the second is empty.
std::string places(const RedisSettings& settings) {
  std::string text;
  for (const RedisAddress& shard : locate_shards(settings, no_environment))
    text += (text.empty() ? "" : " ") + (shard.is_empty_place ? "-" : shard.shard);
  return text;
}

using Numbers = std::vector<int>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_shard_that_is_taken_out_leaves_its_place_empty_and_new_ones_come_behind) {
  const RedisSettings now = shards({"a", "b", "c"});
  BOOST_TEST(places(with_empty_places(now, shards({"a", "b", "c"}))) == "a b c");
  BOOST_TEST(places(with_empty_places(now, shards({"a", "c"}))) == "a - c");
  BOOST_TEST(places(with_empty_places(now, shards({"b", "c", "d"}))) == "- b c d");
  BOOST_TEST(places(with_empty_places(now, shards({"c", "b"}))) == "c b");  // in another order, which is refused
}

BOOST_AUTO_TEST_CASE(a_place_stays_empty_also_when_a_shard_of_that_name_comes_again) {
  const RedisSettings now = with_empty_places(shards({"a", "b", "c"}), shards({"a", "c"}));
  BOOST_TEST(places(with_empty_places(now, shards({"a", "c"}))) == "a - c");
  BOOST_TEST(places(with_empty_places(now, shards({"a"}))) == "a - -");
  BOOST_TEST(places(with_empty_places(now, shards({"a", "c", "b"}))) == "a - c b");
  BOOST_TEST(places(with_empty_places(now, now)) == "a - c");
}

BOOST_AUTO_TEST_CASE(the_last_shards_of_a_cluster_leave_theirs) {
  const RedisSettings fewer = with_empty_places(cluster(4), cluster(2));
  BOOST_TEST(places(fewer) == "0 1 - -");
  BOOST_TEST(places(with_empty_places(fewer, cluster(1))) == "0 - - -");
  BOOST_TEST(places(with_empty_places(cluster(2), cluster(3))) == "0 1 2");
}

BOOST_AUTO_TEST_CASE(a_program_that_takes_over_finds_the_same_places) {
  for (const auto& [now, wanted] :
       {std::pair{shards({"a", "b", "c"}), shards({"b"})}, std::pair{shards({"a", "b", "c"}), shards({"a", "b"})},
        std::pair{cluster(5), cluster(2)}, std::pair{cluster(5), cluster(5)}}) {
    const RedisSettings before = with_empty_places(now, wanted);
    BOOST_TEST(places(with_empty_places(empty_places(before), wanted)) == places(before));
  }
}

BOOST_AUTO_TEST_CASE(which_places_become_empty) {
  const RedisSettings now = with_empty_places(shards({"a", "b", "c"}), shards({"a", "c"}));
  BOOST_TEST((places_left_empty(now, with_empty_places(now, shards({"a"}))) == Numbers{2}));
  BOOST_TEST((places_left_empty(now, now) == Numbers{}));
  BOOST_TEST((places_left_empty(cluster(3), with_empty_places(cluster(3), cluster(1))) == Numbers{1, 2}));
}

BOOST_AUTO_TEST_CASE(nothing_lives_in_an_empty_place_or_in_a_shard_that_is_drained) {
  RedisSettings settings = with_empty_places(shards({"a", "b", "c", "d"}), shards({"a", "c", "d"}));
  settings.shard_list[3].drain = true;
  const KnownShards known(locate_shards(settings, no_environment));
  BOOST_TEST(known.count() == 3U);
  BOOST_TEST(known.rank(0) == 0U);
  BOOST_TEST(known.rank(2) == 1U);
  BOOST_TEST(known.rank(3) == 2U);
  for (int i = 0; i < 100; ++i) {
    const int home = known.home_of(std::to_string(i));
    BOOST_TEST((home == 0 || home == 2));
  }
}
