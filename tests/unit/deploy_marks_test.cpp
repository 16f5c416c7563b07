#include "shared/store/report/deploy_marks.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/wire.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const WallTime minute = std::chrono::sys_days(std::chrono::year(2026) / 11 / 21) + 5h + 9min;

std::vector<MarkOfDeploy> read(std::initializer_list<std::string> hash) {
  return read_deploy_marks(wire::reply(wire::list(hash)).view());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_mark_is_read_as_it_was_written) {
  const std::vector<Command> commands = mark_deploy("v1", minute + 37s);
  BOOST_REQUIRE(commands.size() == 2u);
  BOOST_TEST(commands[0].args == (std::vector<std::string>{"HSETNX", "20261121-marks", "2026-11-21T05:09:00Z", "v1"}),
             boost::test_tools::per_element());
  BOOST_TEST(commands[1].args[1] == ask_deploy_marks(minute).args[1]);

  const auto marks = read({wire::text(commands[0].args[2]), wire::text(commands[0].args[3])});
  BOOST_REQUIRE(marks.size() == 1u);
  BOOST_CHECK(marks[0].at == minute);
  BOOST_TEST(marks[0].label == "v1");
}

BOOST_AUTO_TEST_CASE(marks_come_in_the_order_of_their_times) {
  const auto marks = read({wire::text("2026-11-21T23:59:00Z"), wire::text("late"), wire::text("2026-11-21T00:00:00Z"),
                           wire::text("early"), wire::text("2026-11-21T05:09:00Z"), wire::text("between")});
  BOOST_REQUIRE(marks.size() == 3u);
  BOOST_TEST(marks[0].label == "early");
  BOOST_TEST(marks[1].label == "between");
  BOOST_TEST(marks[2].label == "late");
}

BOOST_AUTO_TEST_CASE(what_is_no_stamp_is_left_out) {
  for (const char* stamp :
       {"", "today", "2026-11-21T05:09:00", "2026-11-21 05:09:00Z", "2026-13-21T05:09:00Z", "2026-02-30T05:09:00Z",
        "1969-12-31T23:59:00Z", "2261-01-01T00:00:00Z", "2026-11-21T05:09:0xZ", "2026-11-21T05:09:00Z "})
    BOOST_TEST(read({wire::text(stamp), wire::text("v1")}).empty(), stamp);
  BOOST_TEST(read({wire::text("2026-11-21T05:09:00Z")}).empty());  // a field without its value
  BOOST_CHECK_THROW(read_deploy_marks(wire::reply(wire::wrong_type()).view()), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(only_the_first_of_a_minute_may_mark) {
  BOOST_TEST(may_mark_deploy("v1", minute).args ==
                 (std::vector<std::string>{"SET", "deploylock-v1", "2026-11-21T05:09:00Z", "NX", "EX", "60"}),
             boost::test_tools::per_element());
  BOOST_TEST(read_may_mark(wire::reply("+OK\r\n").view()));
  BOOST_TEST(!read_may_mark(wire::reply(wire::nil()).view()));
}
