#include <boost/test/unit_test.hpp>

#include "supervisor/shards/plan_rebalance.hpp"

using namespace brood;

namespace {

constexpr ShardToServe usable{true, true}, away{false, true}, out_of_order{true, false}, away_and_so{false, false},
    gone{true, true, false};

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_goes_where_it_would_rather_be_if_that_shard_can_be_used) {
  BOOST_TEST(choose_shard(0, {usable, usable}) == 0);
  BOOST_TEST(choose_shard(1, {usable, usable}) == 1);
}

BOOST_AUTO_TEST_CASE(a_worker_goes_to_the_next_shard_that_can_be_used) {
  BOOST_TEST(choose_shard(1, {usable, away, away}) == 0);
  BOOST_TEST(choose_shard(1, {usable, away, usable}) == 2);
  BOOST_TEST(choose_shard(1, {away, away, away}) == 1);
}

BOOST_AUTO_TEST_CASE(a_worker_keeps_out_of_a_shard_in_which_jobs_that_come_first_are_not_back_yet) {
  BOOST_TEST(choose_shard(0, {out_of_order, usable}) == 1);
  BOOST_TEST(choose_shard(1, {usable, out_of_order, away}) == 0);
  BOOST_TEST(choose_shard(0, {out_of_order, away}) == 0);
  BOOST_TEST(choose_shard(0, {away_and_so, out_of_order}) == 1);
  BOOST_TEST(choose_shard(0, {out_of_order, out_of_order}) == 0);
  BOOST_TEST(choose_shard(1, {out_of_order, away, out_of_order}) == 2);
}

BOOST_AUTO_TEST_CASE(no_worker_goes_to_a_shard_that_is_not_there_whatever_becomes_of_the_others) {
  BOOST_TEST(choose_shard(0, {gone, usable}) == 1);
  BOOST_TEST(choose_shard(0, {gone, away}) == 1);
  BOOST_TEST(choose_shard(0, {gone, out_of_order}) == 1);
  BOOST_TEST(choose_shard(1, {away, gone, gone}) == 0);
}
