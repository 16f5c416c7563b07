#include "supervisor/cli/fleet/fleet_roll.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;
using End = FleetRoll::End;
using OrderOutcome = OrderState::Outcome;
using Places = std::vector<std::size_t>;

namespace {

constexpr FleetRoll::Limits limits{.to_begin = 75s, .to_end = 15min};
constexpr SteadyTime start{};

SeenMember seen(std::vector<OrderState> orders) {
  return {.beats = true, .state = SupervisorState{.phase = "running", .generation = 1, .orders = std::move(orders)}};
}
SeenMember seen(const std::string& id, OrderOutcome outcome, const std::string& text = "") {
  return seen({{"older", "scale", OrderOutcome::refused, ""}, {id, "restart", outcome, text}});
}

FleetMember process(bool is_broods) {
  FleetMember member;
  member.identity = "h:1:x";
  member.is_broods = is_broods;
  return member;
}
FleetMember member_in(const std::string& phase, double loaded_at = 100) {
  FleetMember member = process(true);
  member.state = SupervisorState{.phase = phase, .generation = 1, .loaded_at = loaded_at, .orders = {}};
  return member;
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_supervisor_after_the_other_gets_the_order) {
  FleetRoll roll(3, limits);
  for (std::size_t turn = 0; turn < 3; ++turn) {
    BOOST_TEST((roll.next() == turn));
    const std::string id = "order-" + std::to_string(turn);
    roll.begin(id, start);
    BOOST_TEST(!roll.next());  // while one has it
    BOOST_TEST((roll.under_way() == turn));
    BOOST_TEST(!roll.look(seen({}), start + 3s));  // it has not looked yet
    BOOST_TEST(!roll.look(seen(id, OrderOutcome::under_way, "1 of 2"), start + 5s));
    BOOST_TEST(roll.text() == "1 of 2");
    BOOST_TEST(!roll.look(std::nullopt, start + 10min));  // Redis is away
    BOOST_TEST((roll.look(seen(id, OrderOutcome::done), start + 14min) == End::done));
  }
  BOOST_TEST(!roll.next());
  BOOST_TEST(!roll.failure());
  BOOST_TEST(roll.restarted() == (Places{0, 1, 2}), boost::test_tools::per_element());
  BOOST_TEST(roll.old().empty());
}

BOOST_AUTO_TEST_CASE(the_first_that_fails_ends_it) {
  for (const auto& [outcome, end] : {std::pair(OrderOutcome::refused, End::refused),
                                     {OrderOutcome::rolled_back, End::rolled_back},
                                     {OrderOutcome::not_now, End::not_now},
                                     {OrderOutcome::expired, End::not_taken}}) {
    FleetRoll roll(3, limits);
    roll.begin("a", start);
    roll.look(seen("a", OrderOutcome::done), start);
    roll.begin("b", start);
    BOOST_TEST((roll.look(seen("b", outcome, "why"), start + 1s) == end));
    BOOST_TEST(!roll.next());
    BOOST_TEST((roll.failure() == end));
    BOOST_TEST(roll.text() == "why");
    BOOST_TEST(roll.restarted() == Places{0}, boost::test_tools::per_element());
    BOOST_TEST(roll.old() == (Places{1, 2}), boost::test_tools::per_element());
    BOOST_TEST(!roll.look(seen("b", OrderOutcome::done), start + 2s));  // too late
  }
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_is_gone_silent_or_late_ends_it) {
  const auto begun = [] {
    FleetRoll roll(2, limits);
    roll.begin("a", start);
    return roll;
  };
  FleetRoll gone = begun();
  BOOST_TEST((gone.look(SeenMember{}, start + 1s) == End::gone));

  FleetRoll silent = begun();
  BOOST_TEST(!silent.look(seen({}), start + 74s));
  BOOST_TEST((silent.look(seen({}), start + 75s) == End::not_taken));

  FleetRoll upgraded = begun();
  upgraded.look(seen("a", OrderOutcome::under_way), start + 1s);
  BOOST_TEST((upgraded.look(seen({}), start + 2s) == End::lost_track));

  FleetRoll late = begun();
  BOOST_TEST(!late.look(seen("a", OrderOutcome::under_way), start + 15min - 1s));
  BOOST_TEST((late.look(seen("a", OrderOutcome::under_way), start + 15min) == End::overdue));

  FleetRoll cut_off = begun();
  BOOST_TEST(!cut_off.look(std::nullopt, start + 15min - 1s));
  BOOST_TEST((cut_off.look(std::nullopt, start + 15min) == End::overdue));

  FleetRoll unreadable = begun();  // another has written into its heartbeat
  BOOST_TEST(!unreadable.look(SeenMember{.beats = true}, start + 2min));
  BOOST_TEST((unreadable.look(SeenMember{.beats = true}, start + 15min) == End::overdue));
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_ends_before_its_turn_is_passed_over) {
  FleetRoll roll(2, limits);
  roll.pass_over();
  BOOST_TEST((roll.next() == 1U));
  roll.begin("b", start);
  roll.look(seen("b", OrderOutcome::done), start);
  BOOST_TEST(roll.restarted() == Places{1}, boost::test_tools::per_element());
  BOOST_TEST(roll.old().empty());
  BOOST_TEST(!FleetRoll(0, limits).next());
}

BOOST_AUTO_TEST_CASE(every_end_has_a_name_and_a_sentence) {
  for (const End end : {End::done, End::refused, End::rolled_back, End::not_now, End::not_taken, End::lost_track,
                        End::gone, End::overdue}) {
    BOOST_TEST(!name_of(end).empty());
    BOOST_TEST(!sentence_of(end, "why").empty());
  }
}

BOOST_AUTO_TEST_CASE(a_restart_needs_a_running_supervisor_that_answers) {
  using Place = Placing::Place;
  const auto place = [](const FleetMember& member, std::optional<WallTime> before = std::nullopt) {
    return placing_of(member, before).place;
  };
  BOOST_TEST((place(member_in("running")) == Place::in_turn));
  BOOST_TEST((place(member_in("quiet")) == Place::left_out));
  BOOST_TEST((place(member_in("stopping")) == Place::no_concern));
  BOOST_TEST((place(process(true)) == Place::left_out));
  BOOST_TEST((place(process(false)) == Place::no_concern));
  BOOST_TEST((place(member_in("running", 100), WallTime(101s)) == Place::in_turn));
  BOOST_TEST((place(member_in("running", 100), WallTime(100s)) == Place::new_already));
  BOOST_TEST((place(member_in("running", 0), WallTime(100s)) == Place::in_turn));  // it does not know when
}
