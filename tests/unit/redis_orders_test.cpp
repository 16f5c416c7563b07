#include "supervisor/control/redis_orders.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;
using OrderOutcome = OrderState::Outcome;
using Reception = RedisOrders::Reception;
using Kind = ControlLine::Kind;

namespace {

FleetWord restart(const std::string& id, std::int64_t until = 100) {
  return {.verb = "restart", .ticket = OrderTicket{.id = id, .by = "ann@host", .until = until}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_order_is_followed_once) {
  RedisOrders orders;
  BOOST_TEST((orders.take(restart("a"), WallTime(50s)) == Reception::follow));
  BOOST_TEST((orders.take(restart("a"), WallTime(51s)) == Reception::repeated));
  BOOST_TEST(orders.newest_first().size() == 1U);
  BOOST_TEST((orders.newest_first()[0].outcome == OrderOutcome::under_way));
}

BOOST_AUTO_TEST_CASE(an_order_that_lay_too_long_is_noted_and_not_followed) {
  RedisOrders orders;
  BOOST_TEST((orders.take(restart("a"), WallTime(101s)) == Reception::expired));
  BOOST_TEST((orders.newest_first()[0].outcome == OrderOutcome::expired));
  orders.note("a", {Kind::ok, R"({"outcome":"done"})"});
  BOOST_TEST((orders.newest_first()[0].outcome == OrderOutcome::expired));
}

BOOST_AUTO_TEST_CASE(the_answer_is_what_a_client_of_the_control_socket_hears) {
  RedisOrders orders;
  const auto answered = [&](const std::string& id, const ControlLine& line) {
    orders.take(restart(id), WallTime(1s));
    orders.note(id, {Kind::progress, "1 of 2"});
    BOOST_TEST(orders.newest_first()[0].text == "1 of 2");
    orders.note(id, line);
    return orders.newest_first()[0];
  };
  BOOST_TEST((answered("a", {Kind::ok, R"({"outcome":"done","reason":null})"}).outcome == OrderOutcome::done));
  BOOST_TEST(orders.newest_first()[0].text.empty());
  const OrderState back = answered("b", {Kind::ok, R"({"outcome":"rolled_back","reason":"they crash"})"});
  BOOST_TEST((back.outcome == OrderOutcome::rolled_back));
  BOOST_TEST(back.text == "they crash");
  BOOST_TEST((answered("c", {Kind::ok, R"({"outcome":"not_now","reason":"x"})"}).outcome == OrderOutcome::not_now));
  BOOST_TEST((answered("d", {Kind::error, "no such capsule"}).outcome == OrderOutcome::refused));
  BOOST_TEST(answered("e", {Kind::error, std::string(10'000, 'x')}).text.size() == 500U);
}

BOOST_AUTO_TEST_CASE(the_last_orders_are_kept) {
  RedisOrders orders;
  for (int i = 0; i < 100; ++i) orders.take(restart(std::to_string(i)), WallTime(1s));
  BOOST_TEST(orders.newest_first().size() == 4U);
  BOOST_TEST(orders.newest_first()[0].id == "99");
  BOOST_CHECK_NO_THROW(orders.note("1", {Kind::ok, R"({"outcome":"done"})"}));
}
