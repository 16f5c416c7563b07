#include "shared/store/report/class_runs.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/base/histogram.hpp"
#include "tests/support/wire.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// 2025-02-14T08:03:20Z
const WallTime moment = std::chrono::sys_days(std::chrono::year(2025) / 2 / 14) + 8h + 3min + 20s;

}  // namespace

BOOST_AUTO_TEST_CASE(an_hour_is_asked_for_by_the_minute_and_more_by_ten_of_them) {
  const std::vector<Command> hour = ask_runs_of_all(moment, 60min);
  BOOST_REQUIRE(hour.size() == 60u);
  BOOST_TEST(hour[0].args[1] == "j|250214|8:03");
  BOOST_TEST(hour[59].args[1] == "j|250214|7:04");
  const std::vector<Command> longer = ask_runs_of_all(moment, 61min);
  BOOST_REQUIRE(longer.size() == 7u);
  BOOST_TEST(longer[0].args[1] == "j|250214|8:0");
  BOOST_TEST(longer[6].args[1] == "j|250214|7:0");
}

BOOST_AUTO_TEST_CASE(the_runs_of_a_class_are_added_up) {
  const auto replies =
      wire::replies({wire::list({wire::text("Mail|p"), wire::text("3"), wire::text("Mail|f"), wire::text("1"),
                                 wire::text("Mail|ms"), wire::text("250"), wire::text("a|b|p"), wire::text("5")}),
                     wire::list({wire::text("Mail|p"), wire::text("4")})});
  const auto classes = read_runs_of_all(replies);
  BOOST_REQUIRE(classes.size() == 2u);
  BOOST_TEST(classes.at("Mail").processed == 7u);
  BOOST_TEST(classes.at("Mail").failed == 1u);
  BOOST_TEST(classes.at("Mail").milliseconds == 250u);
  BOOST_TEST(classes.at("a|b").processed == 5u);
}

BOOST_AUTO_TEST_CASE(what_is_no_count_of_a_class_counts_as_nothing) {
  const auto replies = wire::replies({wire::wrong_type(), wire::nil(), wire::number(4), wire::list({}),
                                      wire::list({wire::text("no bar"), wire::text("1"), wire::text("Mail|other"),
                                                  wire::text("1"), wire::text("Mail|p"), wire::text("many"),
                                                  wire::text("Mail|f"), wire::text("-2"), wire::text("Mail|ms")})});
  const auto classes = read_runs_of_all(replies);
  BOOST_REQUIRE(classes.size() == 1u);
  BOOST_TEST(classes.at("Mail").processed + classes.at("Mail").failed + classes.at("Mail").milliseconds == 0u);
}

BOOST_AUTO_TEST_CASE(each_minute_of_a_class_is_read_by_itself) {
  const std::vector<Command> commands = ask_runs_by_minute("Mail", {moment - 1min, moment});
  BOOST_REQUIRE(commands.size() == 4u);
  BOOST_TEST(commands[2].args == (std::vector<std::string>{"HMGET", "j|250214|8:03", "Mail|p", "Mail|f", "Mail|ms"}),
             boost::test_tools::per_element());
  BOOST_TEST(commands[3].args[1] == "h|Mail-14-8:3");
  BOOST_TEST(commands[3].args.size() == 2 + 3 * histogram_buckets);

  const auto replies = wire::replies({wire::list({wire::text("3"), wire::nil(), wire::text("250")}),
                                      wire::list({wire::number(2), wire::number(1)}),
                                      wire::list({wire::nil(), wire::nil(), wire::nil()}), wire::list({})});
  const auto minutes = read_runs_by_minute(replies);
  BOOST_REQUIRE(minutes.size() == 2u);
  BOOST_TEST(minutes[0].processed == 3u);
  BOOST_TEST(minutes[0].failed == 0u);
  BOOST_TEST(minutes[0].milliseconds == 250u);
  BOOST_REQUIRE(minutes[0].histogram.size() == histogram_buckets);
  BOOST_TEST(minutes[0].histogram[0] == 2u);
  BOOST_TEST(minutes[0].histogram[1] == 1u);
  BOOST_TEST(minutes[0].histogram[2] == 0u);
  BOOST_TEST(minutes[1].processed == 0u);
}

BOOST_AUTO_TEST_CASE(a_minute_whose_keys_hold_something_else_has_no_runs) {
  const auto replies =
      wire::replies({wire::wrong_type(), wire::wrong_type(), wire::list({wire::text("3")}), wire::nil()});
  const auto minutes = read_runs_by_minute(replies);
  BOOST_REQUIRE(minutes.size() == 2u);
  for (const RunsOfMinute& runs : minutes) {
    BOOST_TEST(runs.processed + runs.failed + runs.milliseconds == 0u);
    BOOST_TEST(runs.histogram == std::vector<std::uint32_t>(histogram_buckets, 0), boost::test_tools::per_element());
  }
}
