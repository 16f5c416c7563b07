#include "shared/store/report/supervisor_state.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reply_from_wire.hpp"

using namespace brood;
using OrderOutcome = OrderState::Outcome;

BOOST_AUTO_TEST_CASE(a_state_is_read_as_it_was_written) {
  const SupervisorState state{.phase = "running",
                              .generation = 7,
                              .loaded_at = 1795237318.5,
                              .orders = {{"a", "restart", OrderOutcome::rolled_back, "they \"crash\" \x1b"},
                                         {"b", "scale", OrderOutcome::under_way, ""}}};
  const auto read = parse_supervisor_state(text_of(state));
  BOOST_TEST_REQUIRE(read.has_value());
  BOOST_TEST(read->phase == "running");
  BOOST_TEST(read->generation == 7U);
  BOOST_TEST(read->loaded_at == 1795237318.5);
  BOOST_TEST_REQUIRE(read->orders.size() == 2U);
  BOOST_TEST(read->orders[0].id == "a");
  BOOST_TEST((read->orders[0].outcome == OrderOutcome::rolled_back));
  BOOST_TEST(read->orders[0].text == "they \"crash\" \x1b");
  BOOST_TEST((read->orders[1].outcome == OrderOutcome::under_way));
}

// Every client of Redis may have written it.
BOOST_AUTO_TEST_CASE(what_is_no_state_is_none) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string(R"({"phase":"running"})"),
        std::string(R"({"phase":"running","generation":0})"), std::string(R"({"phase":"running","generation":-1})"),
        std::string(R"({"phase":"running","generation":99999999999999999999})"),
        std::string(R"({"phase":7,"generation":1})"), std::string(R"({"phase":"running","generation":1,"orders":7})"),
        R"({"phase":"running","generation":1,"x":")" + std::string(20'000, 'x') + "\"}"}) {
    BOOST_TEST(!parse_supervisor_state(text).has_value(), text.substr(0, 60));
  }
  const auto read = parse_supervisor_state(
      R"({"phase":"running","generation":1,"loaded_at":1e400,"orders":[1,{},{"outcome":"later"},{"outcome":"done"}]})");
  BOOST_TEST_REQUIRE(read.has_value());
  BOOST_TEST(read->loaded_at == 0);
  BOOST_TEST(read->orders.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_heartbeat_without_a_state_has_none) {
  for (const std::string& wire : {nil_on_wire, refused_on_wire, wrong_type_on_wire})
    BOOST_TEST(!read_supervisor_state(reply_from_wire(wire).view()).has_value());
}
