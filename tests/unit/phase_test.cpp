#include <boost/test/unit_test.hpp>

#include <set>

#include "supervisor/phase.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(every_order_in_every_phase_has_its_outcome) {
  const struct {
    Phase before;
    Order order;
    Phase after;
  } table[] = {
      {Phase::running, Order::quiet, Phase::quiet},     {Phase::running, Order::resume, Phase::running},
      {Phase::running, Order::stop, Phase::stopping},   {Phase::running, Order::deadline_passed, Phase::running},
      {Phase::quiet, Order::quiet, Phase::quiet},       {Phase::quiet, Order::resume, Phase::running},
      {Phase::quiet, Order::stop, Phase::stopping},     {Phase::quiet, Order::deadline_passed, Phase::quiet},
      {Phase::stopping, Order::quiet, Phase::stopping}, {Phase::stopping, Order::resume, Phase::stopping},
      {Phase::stopping, Order::stop, Phase::killing},   {Phase::stopping, Order::deadline_passed, Phase::killing},
      {Phase::killing, Order::quiet, Phase::killing},   {Phase::killing, Order::resume, Phase::killing},
      {Phase::killing, Order::stop, Phase::killing},    {Phase::killing, Order::deadline_passed, Phase::killing},
  };
  for (const auto& line : table) {
    BOOST_TEST_CONTEXT(name_of(line.before) << " and order " << static_cast<int>(line.order))
    BOOST_TEST(name_of(next_phase(line.before, line.order)) == name_of(line.after));
  }
}

BOOST_AUTO_TEST_CASE(each_phase_has_a_name_of_its_own) {
  const std::set<std::string_view> names = {name_of(Phase::running), name_of(Phase::quiet), name_of(Phase::stopping),
                                            name_of(Phase::killing)};
  BOOST_TEST(names.size() == 4U);
  BOOST_TEST(!names.contains("unknown"));
}
