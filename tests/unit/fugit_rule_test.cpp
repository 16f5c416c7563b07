#include "shared/periodic/fugit_rule.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include "shared/periodic/next_tick.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A Saturday.
constexpr std::chrono::sys_seconds from = std::chrono::sys_days(std::chrono::year(2026) / 11 / 28) + 12h;

std::string date_of(std::chrono::sys_seconds moment) {
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(moment - day);
  char text[40];
  snprintf(text, sizeof text, "%02u-%02u %02d:%02d:%02d", static_cast<unsigned>(date.month()),
           static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
           static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return text;
}

// The next ticks, by UTC.
std::string ticks(const std::string& text, int how_many = 3) {
  const FugitRule rule = FugitRule::parse(text);
  std::string all;
  auto last = from;
  while (how_many-- > 0) {
    const auto tick = next_tick(rule.rule, rule.zone, last);
    if (!tick) return all + "never";
    last = *tick;
    all += date_of(last) + (how_many > 0 ? ", " : "");
  }
  return all;
}

std::string why(const std::string& text) {
  try {
    FugitRule::parse(text);
  } catch (const CronError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_day_of_the_month_or_of_the_week_is_enough_unless_one_is_a_star) {
  BOOST_TEST(ticks("0 0 13 * 1") == "11-30 00:00:00, 12-07 00:00:00, 12-13 00:00:00");
  BOOST_TEST(ticks("0 0 */2 * 1") == "11-29 00:00:00, 11-30 00:00:00, 12-01 00:00:00");
  BOOST_TEST(ticks("0 0 1-31 * 1") == "11-30 00:00:00, 12-07 00:00:00, 12-14 00:00:00");  // the whole range is a star
  BOOST_TEST(ticks("0 0 */1 * 1") == ticks("0 0 * * 1"));
  BOOST_TEST(ticks("0 0 1 * 0-6") == "11-29 00:00:00, 11-30 00:00:00, 12-01 00:00:00");
  BOOST_TEST(ticks("0 0 13 * *") == "12-13 00:00:00, 01-13 00:00:00, 02-13 00:00:00");
  BOOST_TEST(ticks("0 0 1-7& * mon") == "12-07 00:00:00, 01-04 00:00:00, 02-01 00:00:00");
  BOOST_TEST(ticks("0 0 1-7 * mon&") == ticks("0 0 1-7& * mon"));
}

BOOST_AUTO_TEST_CASE(the_nth_weekday_and_days_from_the_end_of_a_month) {
  BOOST_TEST(ticks("0 0 * * mon#2") == "12-14 00:00:00, 01-11 00:00:00, 02-08 00:00:00");
  BOOST_TEST(ticks("0 0 * * MON#1,FRI#L") == "12-07 00:00:00, 12-25 00:00:00, 01-04 00:00:00");
  BOOST_TEST(ticks("0 0 * * fri#last") == ticks("0 0 * * 5#-1"));
  BOOST_TEST(ticks("0 0 * * 7#1") == ticks("0 0 * * sun#1"));
  BOOST_TEST(ticks("0 0 * * sat#5") == "01-30 00:00:00, 05-29 00:00:00, 07-31 00:00:00");
  BOOST_TEST(ticks("0 0 L * *") == "11-30 00:00:00, 12-31 00:00:00, 01-31 00:00:00");
  BOOST_TEST(ticks("0 0 last 2 *") == "02-28 00:00:00, 02-29 00:00:00, 02-28 00:00:00");
  BOOST_TEST(ticks("0 0 -2 * *") == "11-29 00:00:00, 12-30 00:00:00, 01-30 00:00:00");
  BOOST_TEST(ticks("0 0 -3--1 * *") == "11-29 00:00:00, 11-30 00:00:00, 12-29 00:00:00");
  BOOST_TEST(ticks("0 0 15,L * *") == "11-30 00:00:00, 12-15 00:00:00, 12-31 00:00:00");
}

BOOST_AUTO_TEST_CASE(ranges_run_over_the_end) {
  BOOST_TEST(ticks("0 22-1 * * *", 4) == "11-28 22:00:00, 11-28 23:00:00, 11-29 00:00:00, 11-29 01:00:00");
  BOOST_TEST(ticks("0 0 * * fri-mon", 3) == "11-29 00:00:00, 11-30 00:00:00, 12-04 00:00:00");
  BOOST_TEST(ticks("0 0 * nov-jan 1") == "11-30 00:00:00, 12-07 00:00:00, 12-14 00:00:00");
  BOOST_TEST(ticks("0 24 * * *", 1) == "11-29 00:00:00");
  BOOST_TEST(ticks("/20 * * * *", 2) == "11-28 12:20:00, 11-28 12:40:00");
  BOOST_TEST(ticks("0 */27 * * *", 2) == "11-29 00:00:00, 11-30 00:00:00");
  BOOST_TEST(ticks("*/20 * * * * *", 2) == "11-28 12:00:20, 11-28 12:00:40");
  BOOST_TEST(ticks("0 0 * * 1/2") == ticks("0 0 * * 1"));  // the step repeats nothing
  BOOST_TEST(ticks("0 0 * * */2") == ticks("0 0 * * 0,2,4,6"));
  BOOST_TEST(ticks("0 0 * * *,1") == ticks("0 0 * * 1"));
  BOOST_TEST(ticks(",1,,2, 0 * * *", 2) == "11-29 00:01:00, 11-29 00:02:00");
  BOOST_TEST(ticks("@noon", 1) == "11-29 12:00:00");
}

BOOST_AUTO_TEST_CASE(a_zone_stands_behind) {
  BOOST_TEST(ticks("0 9 * * * Europe/Berlin", 1) == "11-29 08:00:00");
  BOOST_TEST(ticks("0 9 * * * UTC", 1) == "11-29 09:00:00");
  BOOST_TEST(ticks("0 9 * * * GMT", 1) == "11-29 09:00:00");
  BOOST_TEST(ticks("0 9 * * * +09:00", 1) == "11-29 00:00:00");
  BOOST_TEST(ticks("0 9 * * * +0900", 1) == "11-29 00:00:00");
  BOOST_TEST(ticks("0 9 * * * -03:30", 1) == "11-28 12:30:00");
  BOOST_TEST(ticks("@daily Asia/Tokyo", 1) == "11-28 15:00:00");
  BOOST_TEST(ticks("0 0 0 * * MON", 1) == "11-30 00:00:00");  // a day, not a zone
  BOOST_TEST(ticks("0 9 * * MON GMT", 1) == "11-30 09:00:00");
  BOOST_TEST(FugitRule::parse("0 9 * * * +09:00").zone.name() == "+09:00");
  BOOST_TEST(FugitRule::parse("0 9 * * *").zone.name() == "UTC");
  BOOST_TEST(why("0 9 * * * Europe/Berlim") == "this machine knows no time zone \"Europe/Berlim\"");
  BOOST_TEST(why("0 9 * * * Nowhere") == "this machine knows no time zone \"Nowhere\"");
}

BOOST_AUTO_TEST_CASE(what_is_not_read_is_refused_with_a_sentence) {
  BOOST_TEST(why("every day at noon").find("rules in words are not read") != std::string::npos);
  BOOST_TEST(why("0~59 * * * *").find("at random") != std::string::npos);
  BOOST_TEST(why("0 0 * * mon%2").find("every so many weeks") != std::string::npos);
  for (const char* none : {"",
                           "* * * *",
                           "60 * * * *",
                           "* 25 * * *",
                           "* * 0 * *",
                           "* * 32 * *",
                           "* * * 13 *",
                           "* * * * 8",
                           "* * * * mon#6",
                           "* * * * mon#0",
                           "* * * * mon#",
                           "x * * * *",
                           "*/0 * * * *",
                           "* * -5-3 * *",
                           "- * * * *",
                           "1- * * * *",
                           "* * * * * +9",
                           "@reboot",
                           "@never",
                           "100 * * * *",
                           ", * * * *",
                           "* * * * * * *"})
    BOOST_TEST(why(none) != "", none);
  BOOST_TEST(why(std::string(2'000, '*')) != "");
  BOOST_TEST(ticks("0 0 31 2 *") == "never");
}
