#include "supervisor/shards/plan_rebalance.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

const SteadyTime now{24h}, long_ago = now - 1h;
const std::set<int> any{0};

MovableWorker idle(int slot, int shard) {
  return {.slot = slot, .shard = shard, .wanted = shard, .is_idle = true, .since = long_ago};
}
MovableWorker busy(int slot, int shard) {
  MovableWorker worker = idle(slot, shard);
  worker.is_idle = false;
  return worker;
}
MovableWorker in_a_long_job(int slot, int shard) {
  MovableWorker worker = busy(slot, shard);
  worker.runs_a_job = worker.runs_a_long_job = true;
  return worker;
}
MovableWorker called_to(int shard, MovableWorker worker) {
  worker.wanted = shard;
  worker.called = now - 10ms;
  return worker;
}
std::vector<int> called(const std::vector<MovableWorker>& workers, const std::set<int>& capsules = any) {
  return plan_rebalance(9, capsules, workers, now).slots;
}
bool are(const std::vector<int>& found, const std::vector<int>& wanted) { return found == wanted; }

}  // namespace

BOOST_AUTO_TEST_CASE(an_idle_one_of_many_is_called) {
  BOOST_TEST(are(called({idle(0, 1), idle(1, 2), idle(2, 2), busy(3, 2)}), {1}));
}

BOOST_AUTO_TEST_CASE(no_worker_of_another_capsule_is_called) { BOOST_TEST(called({idle(0, 1)}, {1}).empty()); }

BOOST_AUTO_TEST_CASE(one_that_is_on_its_way_is_waited_for_but_not_for_ever) {
  MovableWorker comes = called_to(9, idle(0, 1));
  BOOST_TEST(called({comes, idle(1, 2)}).empty());
  comes.called = now - 1s;
  BOOST_TEST(are(called({comes, idle(1, 2)}), {1}));
}

BOOST_AUTO_TEST_CASE(one_that_is_called_elsewhere_is_left_alone) {
  BOOST_TEST(called({called_to(3, idle(0, 1))}).empty());
}

BOOST_AUTO_TEST_CASE(without_idle_workers_all_are_called_for_one_of_them_to_come) {
  const Rebalance found = plan_rebalance(9, any, {busy(0, 1), busy(1, 2)}, now);
  BOOST_TEST(are(found.slots, {0, 1}));
  BOOST_TEST(found.only_the_first);
}

BOOST_AUTO_TEST_CASE(busy_ones_stay_when_another_is_there_already) {
  BOOST_TEST(called({busy(0, 1), busy(1, 9)}).empty());
}

BOOST_AUTO_TEST_CASE(busy_ones_come_where_all_are_in_long_jobs_from_where_more_are) {
  BOOST_TEST(are(called({busy(0, 1), busy(1, 1), in_a_long_job(2, 9)}), {0, 1}));
  BOOST_TEST(are(called({in_a_long_job(0, 1), in_a_long_job(1, 1), in_a_long_job(2, 9)}), {0, 1}));
  BOOST_TEST(called({busy(0, 1), busy(1, 1), in_a_long_job(2, 9), busy(3, 9)}).empty());
}

BOOST_AUTO_TEST_CASE(long_jobs_take_no_shard_its_last_worker) {
  BOOST_TEST(called({busy(0, 1), in_a_long_job(1, 9)}).empty());
  BOOST_TEST(called({busy(0, 1), busy(1, 1), in_a_long_job(2, 9), in_a_long_job(3, 9)}).empty());
}

BOOST_AUTO_TEST_CASE(one_that_was_called_and_is_in_a_long_job_is_not_relied_on) {
  MovableWorker comes = called_to(9, in_a_long_job(0, 1));
  comes.goes_if_first = true;
  BOOST_TEST(are(called({comes, busy(1, 2), busy(2, 2)}), {1, 2}));
}

BOOST_AUTO_TEST_CASE(busy_ones_leave_rather_those_who_are_many) {
  BOOST_TEST(are(called({busy(0, 1), busy(1, 2), busy(2, 2)}), {1, 2}));
}

BOOST_AUTO_TEST_CASE(a_busy_one_that_has_just_come_stays) {
  MovableWorker fresh = busy(0, 1);
  fresh.since = now - 100ms;
  BOOST_TEST(called({fresh}).empty());
  fresh.since = now - 300ms;
  BOOST_TEST(are(called({fresh}), {0}));
}

BOOST_AUTO_TEST_CASE(an_idle_one_goes_though_it_has_just_come) {
  MovableWorker fresh = idle(0, 1);
  fresh.since = now;
  BOOST_TEST(are(called({fresh}), {0}));
}

BOOST_AUTO_TEST_CASE(busy_ones_count_where_their_capsule_has_no_other) {
  BOOST_TEST((capsules_to_call(9, {busy(0, 1)}) == std::set<int>{0}));
  BOOST_TEST(capsules_to_call(9, {busy(0, 1), busy(1, 9)}).empty());
  BOOST_TEST((capsules_to_call(9, {busy(0, 1), in_a_long_job(1, 9)}) == std::set<int>{0}));
  BOOST_TEST((capsules_to_call(9, {idle(0, 1), busy(1, 9)}) == std::set<int>{0}));
  BOOST_TEST(capsules_to_call(9, {idle(0, 9)}).empty());
}
