#include "shared/store/report/totals.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/wire.hpp"

using namespace brood;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(counters_that_were_never_raised_are_zero) {
  BOOST_TEST(ask_totals().size() == totals_asked);
  const auto replies = wire::replies({wire::nil(), wire::text("3"), wire::number(1), wire::number(2), wire::number(0)});
  const auto totals = read_totals(replies);
  BOOST_TEST(totals.processed == 0);
  BOOST_TEST(totals.failed == 3);
  BOOST_TEST(totals.scheduled == 1);
  BOOST_TEST(totals.retries == 2);
  BOOST_TEST(totals.dead == 0);
  BOOST_TEST(read_totals_leniently(replies).failed == 3u);
}

BOOST_AUTO_TEST_CASE(a_key_of_another_type_is_refused_or_counts_as_nothing) {
  for (const std::string& wrong : {wire::wrong_type(), wire::text("few"), wire::error("NOPERM no")}) {
    const auto replies = wire::replies({wire::text("7"), wire::text("3"), wire::number(1), wrong, wire::number(4)});
    BOOST_CHECK_THROW(read_totals(replies), UnexpectedReply);
    const auto totals = read_totals_leniently(replies);
    BOOST_TEST(totals.processed == 7u);
    BOOST_TEST(totals.retries == 0u);
    BOOST_TEST(totals.dead == 4u);
  }
}

BOOST_AUTO_TEST_CASE(a_counter_below_zero_is_told_or_counts_as_nothing) {
  const auto replies =
      wire::replies({wire::text("-7"), wire::nil(), wire::number(0), wire::number(0), wire::number(0)});
  BOOST_TEST(read_totals(replies).processed == -7);
  BOOST_TEST(read_totals_leniently(replies).processed == 0u);
}

BOOST_AUTO_TEST_CASE(days_go_back_from_today_in_utc) {
  const WallTime now = std::chrono::sys_days(std::chrono::year(2026) / 3 / 1) + 1s;
  const std::vector<std::string> days = last_days(now, 2);
  BOOST_TEST(days == (std::vector<std::string>{"2026-03-01", "2026-02-28"}), boost::test_tools::per_element());
  BOOST_TEST(ask_counts_of_days(days).args ==
                 (std::vector<std::string>{"MGET", "stat:processed:2026-03-01", "stat:failed:2026-03-01",
                                           "stat:processed:2026-02-28", "stat:failed:2026-02-28"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_day_has_its_counts_and_none_is_left_out) {
  const std::vector<std::string> days{"a", "b", "c"};
  const Reply reply =
      wire::reply(wire::list({wire::text("5"), wire::text("2"), wire::nil(), wire::text("-1"), wire::text("9")}));
  const auto counts = read_counts_of_days(days, reply.view());
  BOOST_REQUIRE(counts.size() == 3u);
  BOOST_TEST(counts[0].day == "a");
  BOOST_TEST(counts[0].processed == 5u);
  BOOST_TEST(counts[0].failed == 2u);
  BOOST_TEST(counts[1].processed + counts[1].failed == 0u);
  BOOST_TEST(counts[2].day == "c");
  BOOST_TEST(counts[2].processed + counts[2].failed == 0u);  // half an answer
}
