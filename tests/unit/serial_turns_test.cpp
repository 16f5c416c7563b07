#include "supervisor/workers/places/serial_turns.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Slots = std::set<int>;

const SteadyTime now{1h};

TurnTaker worker(int slot, std::chrono::seconds age) {
  return {.slot = slot, .capsule = "mail", .alone = true, .since = now - age};
}

TurnTaker finishing(TurnTaker one) {
  one.finishing = true;
  return one;
}

TurnTaker dead(TurnTaker one, std::chrono::seconds since) {
  one.ended = now - since;
  return one;
}

TurnTaker one_of_many(TurnTaker one) {
  one.alone = false;
  return one;
}

Slots waiting(const std::vector<TurnTaker>& workers, bool strangers = false) {
  return who_waits(workers, strangers, now);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_by_itself_does_not_wait) { BOOST_TEST(waiting({worker(0, 5s)}).empty()); }

BOOST_AUTO_TEST_CASE(a_new_worker_waits_until_the_one_before_it_is_gone) {
  BOOST_TEST((waiting({worker(0, 5s), worker(1, 1s)}) == Slots{1}));
  BOOST_TEST((waiting({finishing(worker(0, 5s)), worker(1, 1s)}) == Slots{1}));
  BOOST_TEST((waiting({worker(1, 1s)}).empty()));
}

BOOST_AUTO_TEST_CASE(one_of_the_workers_forked_at_one_moment_has_the_turn) {
  BOOST_TEST((waiting({worker(4, 1s), worker(3, 1s)}) == Slots{4}));
}

BOOST_AUTO_TEST_CASE(it_waits_for_the_recovery_of_one_that_died_but_not_for_ever) {
  BOOST_TEST((waiting({dead(worker(0, 5s), 1s), worker(1, 0s)}) == Slots{1}));
  BOOST_TEST((waiting({dead(worker(0, 60s), longest_wait_for_recovery), worker(1, 0s)}).empty()));
}

BOOST_AUTO_TEST_CASE(one_that_died_in_another_shard_is_not_waited_for) {
  TurnTaker elsewhere = dead(worker(0, 5s), 1s);
  elsewhere.shard = 1;
  BOOST_TEST((waiting({elsewhere, worker(1, 0s)}).empty()));
}

BOOST_AUTO_TEST_CASE(no_worker_waits_for_one_that_has_never_fetched) {
  TurnTaker fresh = finishing(worker(1, 1s));
  fresh.never_fetched = true;
  BOOST_TEST((waiting({worker(0, 5s), fresh}) == Slots{1}));
  fresh.since = now - 10s;
  BOOST_TEST((waiting({worker(0, 5s), fresh}).empty()));
  BOOST_TEST((waiting({dead(fresh, 1s), worker(2, 0s)}).empty()));
}

BOOST_AUTO_TEST_CASE(one_of_two_that_wait_for_the_same_recovery_has_the_turn_then) {
  TurnTaker first = worker(1, 2s), second = worker(2, 1s);
  first.never_fetched = second.never_fetched = true;
  BOOST_TEST((waiting({dead(worker(0, 5s), 1s), first, second}) == Slots{1, 2}));
  BOOST_TEST((waiting({first, second}) == Slots{2}));
}

BOOST_AUTO_TEST_CASE(a_capsule_that_is_smaller_now_waits_for_all_that_it_gave_up) {
  const std::vector<TurnTaker> scaled{worker(0, 9s), finishing(worker(1, 5s)), finishing(worker(2, 5s))};
  BOOST_TEST((waiting(scaled) == Slots{0, 1, 2}));  // a worker that finishes fetches nothing anyway
  BOOST_TEST((waiting({worker(0, 9s)}).empty()));
  const std::vector<TurnTaker> rolled{one_of_many(worker(0, 9s)), one_of_many(worker(1, 9s)), worker(2, 1s)};
  BOOST_TEST((waiting(rolled) == Slots{2}));
}

BOOST_AUTO_TEST_CASE(other_capsules_and_larger_ones_do_not_wait) {
  TurnTaker images = worker(1, 1s);
  images.capsule = "images";
  BOOST_TEST((waiting({worker(0, 5s), images}).empty()));
  BOOST_TEST((waiting({worker(0, 5s), one_of_many(worker(1, 1s))}).empty()));
  BOOST_TEST((waiting({one_of_many(worker(0, 5s)), one_of_many(worker(1, 1s))}).empty()));
}

BOOST_AUTO_TEST_CASE(beside_strangers_every_one_that_is_to_be_alone_waits) {
  BOOST_TEST((waiting({worker(0, 5s), one_of_many(worker(1, 5s))}, true) == Slots{0}));
}
