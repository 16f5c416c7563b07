#include "supervisor/queues/doorbell_plan.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

namespace {

using Names = std::vector<std::string>;

const CapsuleQueues two_capsules{{"critical", "default", "low"}, {"images", "low"}};

Names many_queues(int count) {
  Names names;
  for (int i = 0; i < count; ++i) names.push_back("q" + std::to_string(100 + i));
  return names;
}

struct OneSlot {
  Scoreboard board = Scoreboard::in_memory(1);
  WorkerSlot worker{board.slot(0)};

  OneSlot() {
    vacate(board.slot(0), 7, 0);
    board.slot(0).ready.store(1);
    worker.adopt_incarnation(7);
    worker.set_queue("images");
  }
  bool idle() { return idle_sign(board.slot(0)).idle; }
  std::string waits_on() { return idle_worker({.slot = 0, .capsule = 0, .record = &board.slot(0)}).waits_on; }
};

}  // namespace

// ---- Which queues need a worker

BOOST_AUTO_TEST_CASE(a_queue_that_no_worker_waits_on_gets_a_doorbell) {
  const WatchedQueues plan = plan_doorbells(two_capsules, {{0, 0, "critical"}}, {});
  BOOST_TEST(plan.doorbells == (Names{"default", "low"}), boost::test_tools::per_element());
  BOOST_TEST(plan.looked_at.empty());
}

BOOST_AUTO_TEST_CASE(with_a_waiter_on_every_queue_there_is_nothing_to_do) {
  const WatchedQueues plan = plan_doorbells({{"a", "b"}}, {{0, 0, "a"}, {1, 0, "b"}}, {});
  BOOST_TEST(plan.doorbells.empty());
  BOOST_TEST(plan.looked_at.empty());
}

BOOST_AUTO_TEST_CASE(a_capped_queue_is_looked_at_since_a_peek_would_ring_while_its_jobs_may_not_be_taken) {
  const WatchedQueues plan = plan_doorbells(two_capsules, {{0, 0, "critical"}}, {}, most_doorbells, {"default"});
  BOOST_TEST(plan.doorbells == (Names{"low"}), boost::test_tools::per_element());
  BOOST_TEST(plan.looked_at == (Names{"default"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_idle_workers_there_is_nothing_to_do) {
  BOOST_TEST(plan_doorbells(two_capsules, {}, {}).doorbells.empty());
}

BOOST_AUTO_TEST_CASE(a_capsule_without_idle_workers_needs_no_doorbell) {
  const WatchedQueues plan = plan_doorbells(two_capsules, {{3, 1, "images"}}, {});
  BOOST_TEST(plan.doorbells == (Names{"low"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_waiter_of_one_capsule_covers_its_queue_for_another) {
  const WatchedQueues plan = plan_doorbells(two_capsules, {{0, 0, "critical"}, {3, 1, "low"}}, {});
  BOOST_TEST(plan.doorbells == (Names{"images", "default"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_worker_that_does_not_wait_in_redis_needs_all_its_queues_watched) {
  const WatchedQueues plan = plan_doorbells(two_capsules, {{0, 0}}, {});
  BOOST_TEST(plan.doorbells == (Names{"critical", "default", "low"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_first_queues_of_every_capsule_come_first) {
  const WatchedQueues plan = plan_doorbells(two_capsules, {{0, 0}, {3, 1}}, {});
  BOOST_TEST(plan.doorbells == (Names{"critical", "images", "default", "low"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(queues_beyond_sixteen_are_looked_at) {
  const Names queues = many_queues(20);
  const WatchedQueues plan = plan_doorbells({queues}, {{0, 0, queues[0]}}, {});
  BOOST_TEST(plan.doorbells == Names(queues.begin() + 1, queues.begin() + 17), boost::test_tools::per_element());
  BOOST_TEST(plan.looked_at == Names(queues.begin() + 17, queues.end()), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(where_peeks_are_refused_all_are_looked_at) {
  const WatchedQueues plan = plan_doorbells({{"a", "b", "c"}}, {{0, 0, "b"}}, {}, 0);
  BOOST_TEST(plan.doorbells.empty());
  BOOST_TEST(plan.looked_at == (Names{"a", "c"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_left_out_is_not_watched) {
  const WatchedQueues plan = plan_doorbells({{"a", "b", "c"}}, {{0, 0, "b"}}, {"a"});
  BOOST_TEST(plan.doorbells == (Names{"c"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_idle_worker_of_no_capsule_is_passed_over) {
  BOOST_TEST(plan_doorbells(two_capsules, {{0, 9}, {1, -1}}, {}).doorbells.empty());
  BOOST_TEST(!worker_to_free("low", two_capsules, {{0, 9}, {1, -1}}).has_value());
}

// ---- Which worker to free

BOOST_AUTO_TEST_CASE(only_a_worker_whose_capsule_has_the_queue_is_freed) {
  BOOST_TEST(worker_to_free("images", two_capsules, {{0, 0, "critical"}, {3, 1, "low"}}).value_or(-1) == 3);
  BOOST_TEST(!worker_to_free("images", two_capsules, {{0, 0, "critical"}}).has_value());
}

BOOST_AUTO_TEST_CASE(no_worker_is_freed_for_a_queue_that_has_a_waiter) {
  BOOST_TEST(!worker_to_free("low", two_capsules, {{0, 0, "critical"}, {3, 1, "low"}}).has_value());
}

BOOST_AUTO_TEST_CASE(one_that_does_not_wait_in_redis_is_freed_first) {
  BOOST_TEST(worker_to_free("low", two_capsules, {{0, 0, "default"}, {1, 0}, {2, 0, "default"}}).value_or(-1) == 1);
}

BOOST_AUTO_TEST_CASE(one_of_two_waiters_is_freed_before_the_only_one_of_its_queue) {
  BOOST_TEST(
      worker_to_free("low", two_capsules, {{0, 0, "default"}, {1, 0, "critical"}, {2, 0, "critical"}}).value_or(-1) ==
      1);
}

BOOST_AUTO_TEST_CASE(among_waiters_alone_the_one_of_the_last_queue_is_freed) {
  BOOST_TEST(worker_to_free("low", two_capsules, {{0, 0, "critical"}, {1, 0, "default"}}).value_or(-1) == 1);
}

// ---- Idle workers

BOOST_FIXTURE_TEST_CASE(a_worker_that_holds_nothing_is_idle, OneSlot) {
  BOOST_TEST(idle());
  BOOST_TEST(waits_on() == "");
  worker.set_waiting_client(12);
  BOOST_TEST(waits_on() == "images");
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_holds_a_job_is_not, OneSlot) {
  worker.set_fetched(1);
  BOOST_TEST(!idle());
}

BOOST_FIXTURE_TEST_CASE(nor_one_that_was_told_to_quiet_or_has_no_incarnation_yet, OneSlot) {
  board.slot(0).flags.store(slot_quiet);
  BOOST_TEST(!idle());
  board.slot(0).flags.store(0);
  board.slot(0).incarnation.store(8);
  BOOST_TEST(!idle());
  worker.adopt_incarnation(8);
  BOOST_TEST(idle());
  board.slot(0).ready.store(0);
  BOOST_TEST(!idle());
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_waits_anew_shows_another_sign, OneSlot) {
  worker.set_waiting_client(12);
  const IdleSign before = idle_sign(board.slot(0));
  worker.set_queue("images");
  BOOST_TEST((idle_sign(board.slot(0)) != before));
}

BOOST_AUTO_TEST_CASE(a_queue_is_known_to_be_empty_until_it_changes) {
  QueueNotes empty;
  empty.begin_look();
  empty.note_empty({"a", "b", "c"}, {"b"});
  BOOST_TEST(empty.is_empty("a"));
  BOOST_TEST(!empty.is_empty("b"));
  BOOST_TEST(empty.note_change("a"));
  BOOST_TEST(!empty.is_empty("a"));
  BOOST_TEST(!empty.note_change("b"));  // it is looked at in any case
  empty.forget_empty();
  BOOST_TEST(!empty.is_empty("c"));
}

// News and answers come on different connections.
BOOST_AUTO_TEST_CASE(a_change_that_is_told_before_the_look_is_answered_counts) {
  QueueNotes empty;
  empty.begin_look();
  empty.note_change("a");
  empty.note_empty({"a", "b"}, {});
  BOOST_TEST(!empty.is_empty("a"));
  BOOST_TEST(empty.is_empty("b"));
  empty.begin_look();
  empty.note_empty({"a"}, {});
  BOOST_TEST(empty.is_empty("a"));
}
