#include "shared/api/push/shard_choice.hpp"
#include "shared/base/shard_of_key.hpp"

#include <boost/test/unit_test.hpp>
#include <map>

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;
using Order = std::vector<std::size_t>;

constexpr SteadyTime now{1000s}, answers{};

std::string chosen(const Names& names, const std::string& key) { return names[shard_of_key(names, key)]; }

}  // namespace

// Made by: ruby -rdigest -e 'puts %w[eu us asia].max_by { |name| Digest::SHA1.hexdigest("#{name}:#{ARGV[0]}") }' KEY
BOOST_AUTO_TEST_CASE(a_key_has_the_shard_that_any_language_finds) {
  const Names names{"eu", "us", "asia"};
  BOOST_TEST(chosen(names, "tenant-7") == "us");
  BOOST_TEST(chosen(names, "tenant-8") == "asia");
  BOOST_TEST(chosen(names, "tenant-9") == "asia");
  BOOST_TEST(chosen(names, "") == "asia");
  BOOST_TEST(chosen(names, "a") == "eu");
  BOOST_TEST(chosen(names, "ключ") == "asia");
  BOOST_TEST(chosen(names, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") == "asia");
}

BOOST_AUTO_TEST_CASE(the_order_of_the_configuration_does_not_matter) {
  for (int i = 0; i < 100; ++i) {
    const std::string key = "tenant-" + std::to_string(i);
    BOOST_TEST(chosen({"eu", "us", "asia"}, key) == chosen({"asia", "eu", "us"}, key));
  }
}

BOOST_AUTO_TEST_CASE(keys_spread_and_a_new_shard_takes_only_its_share) {
  const Names before{"0", "1", "2"}, after{"0", "1", "2", "3"};
  std::map<std::string, int> count;
  int moved = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string key = std::to_string(i), then = chosen(before, key), later = chosen(after, key);
    ++count[then];
    if (later == then) continue;
    ++moved;
    BOOST_TEST(later == "3");
  }
  for (const std::string& name : before) BOOST_TEST(std::abs(count[name] - 1333) < 150);
  BOOST_TEST(std::abs(moved - 1000) < 150);
}

BOOST_AUTO_TEST_CASE(one_that_is_left_out_counts_as_removed) {
  const Names all{"eu", "us", "asia"}, two{"eu", "asia"};
  for (int i = 0; i < 200; ++i) {
    const std::string key = std::to_string(i);
    BOOST_TEST(all[shard_of_key(all, key, {false, true, false})] == chosen(two, key));
  }
  BOOST_TEST(shard_of_key(all, "a", {true, true, true}) < all.size());
}

BOOST_AUTO_TEST_CASE(shards_that_answer_take_turns) {
  const std::vector<SteadyTime> rests(3, answers);
  BOOST_TEST(shards_to_try(0, rests, now) == (Order{0, 1, 2}), boost::test_tools::per_element());
  BOOST_TEST(shards_to_try(2, rests, now) == (Order{2, 0, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_that_rests_comes_last_and_the_one_that_rests_for_longest_after_it) {
  const std::vector<SteadyTime> rests{now + 9s, answers, now + 3s};
  BOOST_TEST(shards_to_try(0, rests, now) == (Order{1, 2, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_whose_rest_is_over_has_its_turn_again) {
  const std::vector<SteadyTime> rests{now - 1s, answers};
  BOOST_TEST(shards_to_try(0, rests, now) == (Order{0, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(at_most_a_tenth_of_the_time_goes_into_trying) {
  BOOST_TEST((rest_after(0ms) == 1s));
  BOOST_TEST((rest_after(2s) == 18s));
  BOOST_TEST((rest_after(1h) == 1min));
}
