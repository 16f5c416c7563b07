#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "supervisor/workers/places/roll_plan.hpp"

using namespace brood;
using namespace std::chrono_literals;
using State = RollPlace::State;
using Verdict = RollStep::Verdict;

namespace {

const SteadyTime noon{12h};

// Places and what a roll does to them; workers become ready, and end, when the test orders it.
struct Fleet {
  std::vector<RollPlace> places;
  RollPlan roll;
  SteadyTime now = noon;

  explicit Fleet(int max_unavailable = 1) : roll(max_unavailable, 5min) {}

  void add(int count, bool fresh, const std::string& capsule = "default") {
    for (int i = 0; i < count; ++i) {
      RollPlace place;
      place.key = static_cast<int>(places.size());
      place.fresh = fresh;
      place.capsule = capsule;
      place.state = fresh ? State::waiting : State::ready;
      place.since = now;
      places.push_back(place);
    }
  }
  RollStep step() {
    RollStep step = roll.next(places, now);
    for (const int key : step.start) begin(key);
    for (const int key : step.give_up) at(key).state = State::given_up;
    return step;
  }
  // Steps as a supervisor that looks all the time.  Returns the sum of all steps.
  RollStep look_on(std::chrono::milliseconds time) {
    RollStep all = step();
    for (const SteadyTime end = now + time; now < end;) {
      now += 20ms;
      const RollStep next = step();
      all.verdict = next.verdict;
      all.start.insert(all.start.end(), next.start.begin(), next.start.end());
      all.give_up.insert(all.give_up.end(), next.give_up.begin(), next.give_up.end());
    }
    return all;
  }
  void begin(int key) {
    at(key).state = State::starting;
    at(key).since = now;
  }
  void ready(int key) {
    at(key).state = State::ready;
    at(key).since = now;
  }
  RollPlace& at(int key) { return places.at(static_cast<std::size_t>(key)); }
  std::ptrdiff_t count(bool fresh, State state) const {
    return std::count_if(places.begin(), places.end(),
                         [&](const RollPlace& place) { return place.fresh == fresh && place.state == state; });
  }
  // Everything that starts is ready at the next step.
  Verdict play(int most_steps, std::ptrdiff_t& fewest, std::ptrdiff_t& most_starting) {
    for (int i = 0; i < most_steps; ++i) {
      const RollStep taken = step();
      if (taken.verdict != Verdict::goes_on) return taken.verdict;
      fewest = std::min(fewest, count(true, State::ready) + count(false, State::ready));
      most_starting = std::max(most_starting, count(true, State::starting));
      for (RollPlace& place : places) {
        if (place.state != State::starting) continue;
        ready(place.key);
        place.began_a_job = true;
      }
    }
    return Verdict::goes_on;
  }
};

const RollPlan::Death young_death{.how = "killed by SIGSEGV"};

}  // namespace

BOOST_AUTO_TEST_CASE(workers_are_replaced_one_after_the_other_and_none_is_missing_meanwhile) {
  Fleet fleet;
  fleet.add(4, false);
  fleet.add(4, true);
  std::ptrdiff_t fewest = 4, most_starting = 0;
  BOOST_TEST((fleet.play(20, fewest, most_starting) == Verdict::done));
  BOOST_TEST(fewest == 4);
  BOOST_TEST(most_starting == 1);
  BOOST_TEST(fleet.count(false, State::given_up) == 4);
  BOOST_TEST(fleet.count(true, State::ready) == 4);
}

BOOST_AUTO_TEST_CASE(as_many_start_at_a_time_as_may_be_unavailable) {
  Fleet fleet(3);
  fleet.add(8, false);
  fleet.add(8, true);
  std::ptrdiff_t fewest = 8, most_starting = 0;
  BOOST_TEST((fleet.play(20, fewest, most_starting) == Verdict::done));
  BOOST_TEST(fewest == 8);
  BOOST_TEST(most_starting == 3);
}

BOOST_AUTO_TEST_CASE(no_worker_is_to_finish_before_a_new_one_is_ready_and_has_stood_its_trial) {
  Fleet fleet;
  fleet.add(2, false);
  fleet.add(2, true);
  BOOST_TEST((fleet.step().start == std::vector<int>{2}));
  fleet.now += 10s;
  BOOST_TEST(fleet.step().give_up.empty());  // it is not ready
  fleet.ready(2);
  RollStep step = fleet.step();
  BOOST_TEST(step.give_up.empty());
  BOOST_TEST(step.start.empty());
  BOOST_TEST(fleet.roll.next_look().has_value());

  step = fleet.look_on(RollPlan::trial);  // without a job, Redis may be away
  BOOST_TEST((step.give_up == std::vector<int>{0}));
  BOOST_TEST((step.start == std::vector<int>{3}));
}

BOOST_AUTO_TEST_CASE(a_job_begun_ends_the_trial) {
  Fleet fleet;
  fleet.add(1, false);
  fleet.add(1, true);
  fleet.step();
  fleet.ready(1);
  BOOST_TEST((fleet.step().verdict == Verdict::goes_on));
  fleet.at(1).began_a_job = true;
  const RollStep step = fleet.step();
  BOOST_TEST((step.verdict == Verdict::done));
  BOOST_TEST((step.give_up == std::vector<int>{0}));
}

BOOST_AUTO_TEST_CASE(it_is_done_when_every_new_worker_has_stood_its_trial) {
  Fleet fleet;
  fleet.add(2, false);
  fleet.add(2, true);
  fleet.step();
  fleet.ready(2);
  fleet.at(2).began_a_job = true;
  BOOST_TEST((fleet.step().start == std::vector<int>{3}));
  fleet.ready(3);
  RollStep step = fleet.step();
  BOOST_TEST((step.give_up == std::vector<int>{1}));
  BOOST_TEST((step.verdict == Verdict::goes_on));
  for (int death = 0; death < RollPlan::most_deaths; ++death) fleet.roll.note_death(young_death);
  BOOST_TEST((fleet.step().verdict == Verdict::failed));
}

BOOST_AUTO_TEST_CASE(a_worker_makes_up_for_one_of_its_own_capsule_alone) {
  Fleet fleet;
  fleet.add(1, false, "images");
  fleet.add(1, false, "default");
  fleet.add(1, true, "default");
  fleet.add(1, true, "images");
  fleet.step();
  fleet.ready(2);
  fleet.at(2).began_a_job = true;
  BOOST_TEST((fleet.step().give_up == std::vector<int>{1}));
}

BOOST_AUTO_TEST_CASE(workers_that_fetch_nothing_go_first_and_those_in_a_job_last) {
  Fleet fleet;
  fleet.add(4, false);
  fleet.at(0).busy = true;
  fleet.at(2).state = State::starting;
  fleet.at(3).state = State::vacant;
  fleet.add(4, true);
  std::vector<int> order;
  for (int i = 0; i < 20; ++i) {
    const RollStep step = fleet.step();
    order.insert(order.end(), step.give_up.begin(), step.give_up.end());
    for (RollPlace& place : fleet.places) {
      if (place.fresh && place.state == State::starting) {
        place.state = State::ready;
        place.began_a_job = true;
      }
    }
  }
  BOOST_TEST((std::vector<int>(order.begin(), order.begin() + 4) == std::vector<int>{3, 2, 1, 0}));
}

BOOST_AUTO_TEST_CASE(capsules_come_go_and_change_their_size) {
  Fleet fleet;
  fleet.add(4, false, "default");
  fleet.add(2, false, "gone");
  fleet.add(1, true, "default");
  fleet.add(3, true, "new");
  std::ptrdiff_t fewest = 6, most_starting = 0;
  BOOST_TEST((fleet.play(20, fewest, most_starting) == Verdict::done));
  BOOST_TEST(fleet.count(false, State::given_up) == 6);
  BOOST_TEST(fleet.count(true, State::ready) == 4);
}

BOOST_AUTO_TEST_CASE(with_no_worker_to_come_it_is_done_at_once) {
  Fleet fleet;
  BOOST_TEST((fleet.step().verdict == Verdict::done));
}

BOOST_AUTO_TEST_CASE(a_new_worker_that_is_refused_ends_the_roll_at_once) {
  Fleet fleet;
  fleet.add(2, false);
  fleet.add(2, true);
  fleet.step();
  fleet.roll.note_death({.refused = true, .how = "exited with 78"});
  const RollStep step = fleet.step();
  BOOST_TEST((step.verdict == Verdict::failed));
  BOOST_TEST(step.give_up.empty());
  BOOST_TEST(!fleet.roll.reason().empty());
}

BOOST_AUTO_TEST_CASE(new_workers_that_die_young_again_and_again_end_the_roll) {
  Fleet fleet;
  fleet.add(2, false);
  fleet.add(2, true);
  for (int death = 0; death < RollPlan::most_deaths; ++death) {
    BOOST_TEST((fleet.step().verdict == Verdict::goes_on));
    fleet.roll.note_death(young_death);
  }
  BOOST_TEST((fleet.step().verdict == Verdict::failed));
  BOOST_TEST(fleet.roll.reason().find("killed by SIGSEGV") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_that_was_ready_for_a_moment_has_died_young_too) {
  Fleet fleet;
  fleet.add(1, true);
  for (int death = 0; death < RollPlan::most_deaths; ++death)
    fleet.roll.note_death({.was_ready = true, .ready_for = RollPlan::trial - 1ms, .how = "killed by SIGALRM"});
  BOOST_TEST((fleet.step().verdict == Verdict::failed));
}

BOOST_AUTO_TEST_CASE(one_that_died_while_the_supervisor_stood_still_has_stood_no_trial) {
  Fleet fleet;
  fleet.add(1, false);
  fleet.add(1, true);
  for (int death = 0; death < RollPlan::most_deaths; ++death) {
    fleet.step();
    fleet.ready(1);
    BOOST_TEST(fleet.step().give_up.empty());
    fleet.now += 5s;
    fleet.roll.note_death({.place = 1, .was_ready = true, .ready_for = 5s, .how = "killed by SIGALRM"});
    fleet.begin(1);
  }
  const RollStep last = fleet.step();
  BOOST_TEST((last.verdict == Verdict::failed));
  BOOST_TEST(last.give_up.empty());
}

// The supervisor's look may come before the news of a death.
BOOST_AUTO_TEST_CASE(time_in_which_a_supervisor_stood_still_is_no_part_of_a_trial) {
  Fleet fleet;
  fleet.add(1, false);
  fleet.add(1, true);
  fleet.step();
  fleet.ready(1);
  fleet.step();
  fleet.now += 5s;
  BOOST_TEST(fleet.step().give_up.empty());
  BOOST_TEST(fleet.look_on(RollPlan::trial - 200ms).give_up.empty());
  BOOST_TEST((fleet.look_on(100ms).give_up == std::vector<int>{0}));
}

BOOST_AUTO_TEST_CASE(each_worker_of_a_place_stands_a_trial_of_its_own) {
  Fleet fleet;
  fleet.add(1, false);
  fleet.add(1, true);
  fleet.step();
  for (int worker = 0; worker < 2; ++worker) {
    fleet.ready(1);
    BOOST_TEST(fleet.look_on(600ms).give_up.empty());
    fleet.roll.note_death({.place = 1, .was_ready = true, .ready_for = 600ms, .how = "killed by SIGALRM"});
    fleet.begin(1);
  }
}

// Workers that end after each job are seldom all ready at one moment.
BOOST_AUTO_TEST_CASE(a_place_that_has_stood_its_trial_holds_up_no_other_while_its_next_worker_starts) {
  Fleet fleet(1);
  fleet.add(3, true);
  BOOST_TEST((fleet.step().start == std::vector<int>{0}));
  fleet.ready(0);
  fleet.at(0).began_a_job = true;
  BOOST_TEST((fleet.step().start == std::vector<int>{1}));
  fleet.roll.note_death({.place = 0, .in_order = true, .began_a_job = true, .was_ready = true});
  fleet.at(0).began_a_job = false;
  fleet.begin(0);
  fleet.ready(1);
  fleet.at(1).began_a_job = true;
  BOOST_TEST((fleet.step().start == std::vector<int>{2}));
}

BOOST_AUTO_TEST_CASE(deaths_with_a_job_or_after_a_while_or_in_order_are_not_the_generation_s_fault) {
  Fleet fleet;
  fleet.add(2, true);
  for (int round = 0; round < 3; ++round) {
    fleet.roll.note_death(young_death);
    fleet.roll.note_death(young_death);
    if (round == 2) {
      fleet.ready(0);
      fleet.look_on(2s);
    }
    fleet.roll.note_death({.place = 0,
                           .in_order = round == 0,
                           .began_a_job = round == 1,
                           .was_ready = round == 2,
                           .ready_for = round == 2 ? 2s : 0s,
                           .how = "killed by SIGKILL"});
  }
  BOOST_TEST((fleet.step().verdict == Verdict::goes_on));
}

BOOST_AUTO_TEST_CASE(a_new_worker_that_is_never_ready_ends_the_roll_some_day) {
  Fleet fleet;
  fleet.add(1, false);
  fleet.add(1, true);
  fleet.step();
  fleet.now += 5min - 1s;
  BOOST_TEST((fleet.step().verdict == Verdict::goes_on));
  BOOST_TEST((fleet.roll.next_look() == fleet.now + 1s));
  fleet.now += 1s;
  BOOST_TEST((fleet.step().verdict == Verdict::failed));
}

BOOST_AUTO_TEST_CASE(a_new_worker_that_dies_later_on_lets_no_worker_go_until_it_is_replaced) {
  Fleet fleet(2);
  fleet.add(3, false);
  fleet.add(3, true);
  fleet.step();
  for (const int key : {3, 4}) {
    fleet.ready(key);
    fleet.at(key).began_a_job = true;
  }
  fleet.at(4).state = State::vacant;
  BOOST_TEST(fleet.step().give_up.size() == 1U);
  fleet.begin(4);
  BOOST_TEST(fleet.step().give_up.empty());
  fleet.ready(4);
  BOOST_TEST(fleet.step().give_up.size() == 1U);
}

// Workers that end after each job are seldom all ready at once.
BOOST_AUTO_TEST_CASE(a_place_whose_worker_has_stood_its_trial_is_replaced_though_that_worker_has_gone) {
  Fleet fleet(2);
  fleet.add(2, false);
  fleet.add(2, true);
  fleet.step();
  fleet.ready(2);
  fleet.at(2).began_a_job = true;
  BOOST_TEST((fleet.step().give_up == std::vector<int>{0}));

  fleet.roll.note_death({.place = 2, .in_order = true, .began_a_job = true, .was_ready = true});
  fleet.at(2).began_a_job = false;
  fleet.begin(2);
  BOOST_TEST((fleet.step().verdict == Verdict::goes_on));
  fleet.roll.note_death({.place = 3, .in_order = true, .began_a_job = true, .was_ready = true});
  fleet.begin(3);  // and it was not seen ready

  const RollStep last = fleet.step();

  BOOST_TEST((last.verdict == Verdict::done));
  BOOST_TEST((last.give_up == std::vector<int>{1}));
}

BOOST_AUTO_TEST_CASE(a_worker_that_ended_before_its_trial_was_over_proves_nothing) {
  Fleet fleet;
  fleet.add(1, false);
  fleet.add(1, true);
  fleet.step();
  fleet.ready(1);
  BOOST_TEST(fleet.step().give_up.empty());
  fleet.roll.note_death({.place = 1, .was_ready = true, .ready_for = 900ms, .how = "killed by SIGSEGV"});
  fleet.begin(1);
  BOOST_TEST(fleet.step().give_up.empty());
}

BOOST_AUTO_TEST_CASE(a_worker_that_left_when_told_to_proves_nothing_either) {
  Fleet fleet;
  fleet.add(1, false);
  fleet.add(1, true);
  fleet.step();
  fleet.ready(1);
  fleet.roll.note_death({.place = 1, .in_order = true, .was_ready = true, .ready_for = 100ms});
  fleet.begin(1);
  BOOST_TEST(fleet.step().give_up.empty());
}
