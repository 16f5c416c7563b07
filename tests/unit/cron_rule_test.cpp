#include "shared/periodic/cron_rule.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "shared/periodic/next_tick.hpp"
#include "shared/periodic/zone.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono;
using namespace std::chrono_literals;

namespace {

std::string refusal_of(std::string_view text) {
  try {
    CronRule::parse(text);
    return "";
  } catch (const CronError& error) {
    return error.what();
  }
}

sys_seconds utc(int y, unsigned mo, unsigned d, int h = 0, int mi = 0, int s = 0) {
  return sys_days(year(y) / month(mo) / day(d)) + hours(h) + minutes(mi) + seconds(s);
}

std::string text_of(std::optional<sys_seconds> moment) {
  if (!moment) return "never";
  const auto date = floor<days>(*moment);
  const year_month_day ymd(date);
  const hh_mm_ss time(*moment - date);
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d", static_cast<int>(ymd.year()),
                static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

// The next ticks after a moment, in UTC.
std::vector<std::string> ticks(std::string_view rule, const char* zone, sys_seconds after, int how_many) {
  const CronRule parsed = CronRule::parse(rule);
  const Zone in = Zone::find(zone).value();
  std::vector<std::string> all;
  for (std::optional<sys_seconds> tick = after; how_many-- > 0;) {
    tick = next_tick(parsed, in, *tick);
    all.push_back(text_of(tick));
    if (!tick) break;
  }
  return all;
}

using Texts = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(five_fields_are_minute_hour_day_month_and_day_of_the_week) {
  BOOST_TEST(
      ticks("30 3 * * *", "UTC", utc(2026, 11, 24, 3, 30), 2) == (Texts{"2026-11-25 03:30:00", "2026-11-26 03:30:00"}),
      boost::test_tools::per_element());
  BOOST_TEST(ticks("*/20 9-10 24,25 nov TUE", "UTC", utc(2026, 11, 24, 9, 20), 3) ==
                 (Texts{"2026-11-24 09:40:00", "2026-11-24 10:00:00", "2026-11-24 10:20:00"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(six_fields_have_seconds_in_front) {
  BOOST_TEST(ticks("*/30 * * * * *", "UTC", utc(2026, 11, 24, 3, 59, 15), 2) ==
                 (Texts{"2026-11-24 03:59:30", "2026-11-24 04:00:00"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_of_two_named_days_is_enough_and_a_star_leaves_the_other) {
  BOOST_TEST(ticks("0 0 13 * fri", "UTC", utc(2026, 11, 10), 3) ==
                 (Texts{"2026-11-13 00:00:00", "2026-11-20 00:00:00", "2026-11-27 00:00:00"}),
             boost::test_tools::per_element());
  BOOST_TEST(
      ticks("0 0 */2 * fri", "UTC", utc(2026, 11, 10), 2) == (Texts{"2026-11-13 00:00:00", "2026-11-27 00:00:00"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sunday_is_0_and_7_and_ends_a_range) {
  for (const char* const rule : {"0 0 * * 0", "0 0 * * 7", "0 0 * * sun", "0 0 * * 0-0", "0 0 * * 7-7"})
    BOOST_TEST(text_of(next_tick(CronRule::parse(rule), {}, utc(2026, 11, 24))) == "2026-11-29 00:00:00", rule);
  BOOST_TEST(ticks("0 0 * * sat-sun", "UTC", utc(2026, 11, 24), 3) ==
                 (Texts{"2026-11-28 00:00:00", "2026-11-29 00:00:00", "2026-12-05 00:00:00"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_nickname_is_a_rule) {
  BOOST_TEST(text_of(next_tick(CronRule::parse("@daily"), {}, utc(2026, 11, 24))) == "2026-11-25 00:00:00");
  BOOST_TEST(text_of(next_tick(CronRule::parse("@yearly"), {}, utc(2026, 11, 24))) == "2027-01-01 00:00:00");
  BOOST_TEST(text_of(next_tick(CronRule::parse("@hourly"), {}, utc(2026, 11, 24))) == "2026-11-24 01:00:00");
}

BOOST_AUTO_TEST_CASE(an_error_names_the_field) {
  BOOST_TEST(refusal_of("60 * * * *") == "the minute \"60\" is not within 0 to 59");
  BOOST_TEST(refusal_of("* 25 * * *") == "the hour \"25\" is not within 0 to 23");
  BOOST_TEST(refusal_of("* * 0 * *") == "the day of the month \"0\" is not within 1 to 31");
  BOOST_TEST(refusal_of("* * * foo *") == "the month \"foo\" is no number, name, range or *");
  BOOST_TEST(refusal_of("* * * * 5-1") == "the day of the week \"5-1\" runs backwards");
  BOOST_TEST(refusal_of("*/0 * * * *") == "the minute \"*/0\" has a step that is not within 1 to 59");
  BOOST_TEST(refusal_of("*/90 * * * *") == "the minute \"*/90\" has a step that is not within 1 to 59");
  BOOST_TEST(refusal_of("1,,2 * * * *") == "the minute \"1,,2\" has nothing between two commas");
  BOOST_TEST(refusal_of("77 * * * * *") == "the second \"77\" is not within 0 to 59");
  BOOST_TEST(refusal_of("0 0 30 2 *") == "the day of the month \"30\" comes in none of the months");
  BOOST_TEST(refusal_of("* * * *") == "a rule has 5 fields, or 6 with seconds in front, and \"* * * *\" has 4");
  BOOST_TEST(refusal_of("  ") == "the rule is empty");
  BOOST_TEST(refusal_of("@reboot").starts_with("\"@reboot\" is none of @yearly"));
  BOOST_TEST(refusal_of("-1 * * * *").starts_with("the minute \"-1\" is no number"));
}

BOOST_AUTO_TEST_CASE(a_day_that_comes_once_in_years_is_found) {
  BOOST_TEST(text_of(next_tick(CronRule::parse("0 0 29 2 *"), {}, utc(2097, 1, 1))) == "2104-02-29 00:00:00");
  BOOST_TEST(text_of(next_tick(CronRule::parse("0 0 */29 2 1"), {}, utc(2026, 11, 24))) == "2027-02-01 00:00:00");
}

// In Berlin on 2027-03-28 it is 03:00 after 01:59, and on 2026-10-25 it is 02:00 for the second time after 02:59.
BOOST_AUTO_TEST_CASE(a_named_time_that_is_left_out_comes_at_the_first_instant_after_it) {
  BOOST_TEST(ticks("30 2 * * *", "Europe/Berlin", utc(2027, 3, 27, 2), 2) ==
                 (Texts{"2027-03-28 01:00:00", "2027-03-29 00:30:00"}),
             boost::test_tools::per_element());
  // All times that are left out give one tick, the same as that of the end itself.
  BOOST_TEST(ticks("10,30 2,3 * * *", "Europe/Berlin", utc(2027, 3, 28), 3) ==
                 (Texts{"2027-03-28 01:00:00", "2027-03-28 01:10:00", "2027-03-28 01:30:00"}),
             boost::test_tools::per_element());
  BOOST_TEST(ticks("0 2,3 * * *", "Europe/Berlin", utc(2027, 3, 28), 2) ==
                 (Texts{"2027-03-28 01:00:00", "2027-03-29 00:00:00"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_named_time_that_is_shown_twice_comes_the_first_time) {
  BOOST_TEST(ticks("30 2 * * *", "Europe/Berlin", utc(2026, 10, 24, 12), 2) ==
                 (Texts{"2026-10-25 00:30:00", "2026-10-26 01:30:00"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_rule_with_a_star_or_a_step_goes_by_the_time_that_passes) {
  BOOST_TEST(ticks("30 * * * *", "Europe/Berlin", utc(2026, 10, 25), 3) ==
                 (Texts{"2026-10-25 00:30:00", "2026-10-25 01:30:00", "2026-10-25 02:30:00"}),
             boost::test_tools::per_element());
  BOOST_TEST(ticks("30 */2 * * *", "Europe/Berlin", utc(2026, 10, 25), 3) ==
                 (Texts{"2026-10-25 00:30:00", "2026-10-25 01:30:00", "2026-10-25 03:30:00"}),
             boost::test_tools::per_element());
  BOOST_TEST(ticks("*/30 2 * * *", "Europe/Berlin", utc(2027, 3, 27, 23), 1) == (Texts{"2027-03-29 00:00:00"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_unknown_zone_is_none_and_one_like_it_is_named) {
  BOOST_TEST(!Zone::find("Europe/Berlim"));
  BOOST_TEST(!Zone::find("../../etc/passwd"));
  BOOST_TEST(!Zone::find(""));
  BOOST_TEST(Zone::like("Europe/Berlim").value_or("") == "Europe/Berlin");
  BOOST_TEST(Zone::find("UTC").has_value());
}

// ---- Beside a slow enumerator, which knows the clock by the C library and looks at every minute.

namespace {

// Another reading of a rule: sets of values, and no bits.
struct SlowRule {
  std::vector<int> minutes, hours, days, months, weekdays;
  bool either = false, names_time = false;
  std::string text;

  bool fits(const tm& shown) const {
    const auto in = [](const std::vector<int>& all, int value) {
      return std::find(all.begin(), all.end(), value) != all.end();
    };
    const bool month_day = in(days, shown.tm_mday), week_day = in(weekdays, shown.tm_wday);
    return in(minutes, shown.tm_min) && in(hours, shown.tm_hour) && in(months, shown.tm_mon + 1) &&
           (either ? month_day || week_day : month_day && week_day);
  }
};

class RandomRules {
 public:
  explicit RandomRules(unsigned seed) : random_(seed) {}

  SlowRule draw() {
    SlowRule rule;
    const bool named = draw(2) == 0;
    rule.text = field(rule.minutes, 0, 59, named ? 1 : 4) + " ";
    rule.text += field(rule.hours, 0, 23, named ? 1 : 4) + " ";
    rule.names_time = rule.text.find_first_of("*/") == std::string::npos;
    const std::string days = field(rule.days, 1, 31, 6), months = field(rule.months, 1, 12, 8),
                      weekdays = field(rule.weekdays, 0, 6, 6);
    rule.either = days[0] != '*' && weekdays[0] != '*';
    rule.text += days + " " + months + " " + weekdays;
    // Days that never come are no rule.
    if (!rule.either && *std::min_element(rule.days.begin(), rule.days.end()) > 28) return draw();
    return rule;
  }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  // `kinds` 1: values and ranges alone; the more, the more often `*`.
  std::string field(std::vector<int>& values, int least, int most, int kinds) {
    const int kind = kinds == 1 ? draw(2) : draw(kinds);
    const int first = least + draw(most - least + 1), last = first + draw(most - first + 1), step = 1 + draw(9);
    if (kind == 0) {
      values = {first};
      return std::to_string(first);
    }
    if (kind == 1) {
      for (int value = first; value <= last; ++value) values.push_back(value);
      return std::to_string(first) + "-" + std::to_string(last);
    }
    if (kind == 2) {
      const int used = std::min(step, most);
      for (int value = least; value <= most; value += used) values.push_back(value);
      return "*/" + std::to_string(used);
    }
    for (int value = least; value <= most; ++value) values.push_back(value);
    return "*";
  }

  std::mt19937 random_;
};

void go_to(const std::string& zone) {
  setenv("TZ", (":" + zone).c_str(), 1);
  tzset();
}

// Every minute of the years, once for all rules.
std::vector<std::vector<time_t>> enumerate(const std::vector<SlowRule>& rules, sys_seconds begin, sys_seconds end) {
  std::vector<std::vector<time_t>> found(rules.size());
  const time_t first = begin.time_since_epoch().count(), last = end.time_since_epoch().count();
  // The minutes on the clock's face, counted without a zone.
  const auto counted = [](const tm& shown) { return timegm(const_cast<tm*>(&shown)); };
  time_t highest = 0;
  for (time_t now = first - 2 * 86'400; now < last; now += 60) {
    tm shown{};
    localtime_r(&now, &shown);
    tm plain = shown;
    plain.tm_isdst = 0;
    const time_t minute = counted(plain);
    const bool again = minute <= highest;
    const time_t before = highest;
    highest = std::max(highest, minute);
    if (now < first) continue;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      bool comes = rules[i].fits(shown) && !(again && rules[i].names_time);
      if (rules[i].names_time) {
        for (time_t left = before + 60; left < minute && !comes; left += 60) {
          tm out{};
          gmtime_r(&left, &out);
          comes = rules[i].fits(out);
        }
      }
      if (comes) found[i].push_back(now);
    }
  }
  return found;
}

void compare(const std::string& zone_name, sys_seconds begin, sys_seconds end, int how_many, unsigned seed) {
  const auto zone = Zone::find(zone_name);
  BOOST_REQUIRE_MESSAGE(zone, zone_name);
  RandomRules random(seed);
  std::vector<SlowRule> rules;
  for (int i = 0; i < how_many; ++i) rules.push_back(random.draw());
  go_to(zone_name);
  const auto found = enumerate(rules, begin, end);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const CronRule rule = CronRule::parse(rules[i].text);
    BOOST_REQUIRE(rule.names_time == rules[i].names_time);
    auto tick = next_tick(rule, *zone, begin - 1s);
    for (const time_t expected : found[i]) {
      BOOST_REQUIRE_MESSAGE(tick && tick->time_since_epoch().count() == expected,
                            zone_name << ", \"" << rules[i].text << "\": " << text_of(tick) << " and not "
                                      << text_of(sys_seconds(seconds(expected))));
      tick = next_tick(rule, *zone, *tick);
    }
    BOOST_REQUIRE_MESSAGE(!tick || *tick >= end,
                          zone_name << ", \"" << rules[i].text << "\": " << text_of(tick) << " is one too many");
  }
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__  // ten times as slow
constexpr int rules_for_a_zone = 2, hostile_texts = 10'000, last_month = 5, zones_between = 8;
#else
constexpr int rules_for_a_zone = 8, hostile_texts = 60'000, last_month = 11, zones_between = 1;
#endif

BOOST_AUTO_TEST_CASE(a_slow_look_at_every_minute_finds_the_same) {
  const char* const all = std::getenv("BROOD_ALL_ZONES");
  const std::vector<std::string> some{"UTC",
                                      "Europe/Berlin",
                                      "America/New_York",
                                      "Australia/Lord_Howe",  // half an hour
                                      "Antarctica/Troll",     // two hours
                                      "Africa/Casablanca",    // for Ramadan
                                      "Asia/Kathmandu",       // ahead by three quarters
                                      "America/St_Johns"};
  if (!all) {
    for (unsigned i = 0; i < some.size(); ++i)
      compare(some[i], utc(2026, 1, 1), utc(2026, last_month, 15), rules_for_a_zone, i);
    compare("Pacific/Apia", utc(2011, 9, 1), utc(2012, 5, 1), rules_for_a_zone, 99);    // left out a whole day
    compare("Asia/Pyongyang", utc(2015, 7, 1), utc(2015, 9, 1), rules_for_a_zone, 98);  // put back once, at midnight
    return;
  }
  std::vector<std::string> names;
  for (FILE* const list = popen("cd /usr/share/zoneinfo && find [A-Z]* -type f | sort", "r"); list;) {
    char line[256];
    while (std::fgets(line, sizeof line, list)) names.emplace_back(line, std::string_view(line).find('\n'));
    pclose(list);
    break;
  }
  unsigned tried = 0;
  for (const std::string& name : names) {
    if (!Zone::find(name)) continue;
    compare(name, utc(2026, 1, 1), utc(2036, 1, 1), 12, tried);
    compare(name, utc(2007, 1, 1), utc(2017, 1, 1), 6, tried + 1000);
    ++tried;
  }
  BOOST_TEST_MESSAGE(tried << " zones");
  BOOST_TEST(tried > 300u);
}

namespace {

std::vector<std::string> zones_of_this_machine() {
  std::vector<std::string> names;
  const std::filesystem::path root = "/usr/share/zoneinfo";
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = file.path().lexically_relative(root);
    if (file.is_regular_file() && Zone::find(name)) names.push_back(name);
  }
  return names;
}

// Whether the C library, which is at `zone`, shows the same.
void check_like_c_library(const std::string& name, const Zone::Span& span, sys_seconds moment) {
  const time_t now = moment.time_since_epoch().count();
  tm shown{};
  BOOST_REQUIRE(localtime_r(&now, &shown) != nullptr);
  BOOST_REQUIRE_MESSAGE(shown.tm_gmtoff == span.ahead.count(),
                        name << " at " << text_of(moment) << ": " << span.ahead << " and not " << shown.tm_gmtoff);
  BOOST_REQUIRE_MESSAGE(span.begin <= moment && moment < span.end, name << " at " << text_of(moment));
}

template <typename Around>
void check_clocks(const std::string& name, Around around, sys_seconds begin, sys_seconds end) {
  for (auto moment = begin; moment < end;) {
    const Zone::Span span = around(moment);
    check_like_c_library(name, span, moment);
    check_like_c_library(name, span, span.end - 1s);
    moment = span.end;
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) {  // a change that is missing would not be noticed where it is
    const auto moment = begin + seconds(random() % static_cast<std::uint64_t>((end - begin).count()));
    check_like_c_library(name, around(moment), moment);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(clocks_of_each_zone_are_those_of_the_c_library) {
  const std::vector<std::string> names = zones_of_this_machine();
  BOOST_TEST(names.size() > 300u);
  for (std::size_t i = 0; i < names.size(); i += zones_between) {
    const std::string& name = names[i];
    go_to(name);
    const Zone zone = Zone::find(name).value();
    check_clocks(
        name, [&](sys_seconds moment) { return zone.around(moment); }, utc(1900, 1, 1), utc(2150, 1, 1));
  }
}

// As Morocco did in 2026: it gives up the hour by which its standard time was ahead.
BOOST_AUTO_TEST_CASE(a_change_of_standard_time_comes_when_clocks_show_the_time_that_the_data_name) {
  const TemporaryDirectory directory;
  directory.write("rules",
                  "Rule M 2026 only - Feb 15 3:00 -1:00 -\n"
                  "Rule M 2026 only - Mar 22 2:00 0 -\n"
                  "Zone Test/Permanent 1:00 M %z 2026 Sep 20 2:00\n"
                  " 0:00 - %z\n"
                  "Rule N 2020 max - Mar lastSun 26:00 1:00 S\n"
                  "Rule N 2020 max - Oct 31 0:00 0 -\n"
                  "Zone Test/Late -3:30 N %z\n"
                  "Zone Test/None 5:45 - %z\n");
  const std::string compile = "/usr/sbin/zic -d " + directory.path() + " " + directory.path() + "/rules 2>&1";
  BOOST_REQUIRE(std::system(compile.c_str()) == 0);
  for (const char* const name : {"/Test/Permanent", "/Test/Late", "/Test/None"}) {
    const std::string path = directory.path() + name;
    const auto zone = ZoneFile::parse(text_of_file(path));
    BOOST_REQUIRE_MESSAGE(zone.has_value(), path);
    go_to(path);
    check_clocks(
        name, [&](sys_seconds moment) { return zone->around(moment); }, utc(1970, 1, 1), utc(2150, 1, 1));
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_time_zone_is_refused) {
  const std::string berlin = text_of_file("/usr/share/zoneinfo/Europe/Berlin");
  BOOST_REQUIRE(ZoneFile::parse(berlin).has_value());
  BOOST_TEST(!ZoneFile::parse("").has_value());
  BOOST_TEST(!ZoneFile::parse("TZif").has_value());
  const std::size_t rule = berlin.rfind('\n', berlin.size() - 2);
  for (std::size_t size = 0; size < rule; size += 7)
    BOOST_TEST(!ZoneFile::parse(berlin.substr(0, size)).has_value(), size);
  for (const char* const wrong : {"CET", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
                                  "CET-1CEST,M3.6.0,M10.5.0/3", "CET-1CEST,M3.5.0,M10.5.0/3more", "<CET-1", "1"})
    BOOST_TEST(!ZoneFile::parse(berlin.substr(0, rule) + "\n" + wrong + "\n").has_value(), wrong);
  std::mt19937 random(5);
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes = berlin;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (const auto zone = ZoneFile::parse(bytes)) {
      for (const int year : {1500, 1900, 2026, 2100, 2400}) zone->around(utc(year, 3, 28));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_old_name_is_a_zone_too_and_what_counts_otherwise_is_none) {
  const auto old = Zone::find("US/Pacific"), present = Zone::find("America/Los_Angeles");
  BOOST_REQUIRE((old && present));
  BOOST_TEST((old->around(utc(2026, 7, 1)).ahead == present->around(utc(2026, 7, 1)).ahead));
  for (const char* const name :
       {"right/Europe/Berlin", "posix/Europe/Berlin", "localtime", "posixrules", "zone.tab", "tzdata.zi", "Europe",
        "Europe/", "/Europe/Berlin", "Europe//Berlin", "Europe/../Europe/Berlin"})
    BOOST_TEST(!Zone::find(name).has_value(), name);
}

BOOST_AUTO_TEST_CASE(hostile_text_is_a_rule_or_refused) {
  std::mt19937 random(7);
  const std::string letters = "0123456789 *,-/@abcjansun\t%?L#\x80\xff";
  int rules = 0;
  for (int i = 0; i < hostile_texts; ++i) {
    std::string text;
    if (i % 3 == 0) {  // nearly a rule
      text = RandomRules(static_cast<unsigned>(i)).draw().text;
      for (unsigned changes = random() % 3; changes > 0; --changes)
        text[random() % text.size()] = letters[random() % letters.size()];
    } else {
      for (unsigned length = random() % 40; length > 0; --length) text += letters[random() % letters.size()];
      if (i % 5 == 0) text.push_back('\0');
    }
    try {
      const CronRule rule = CronRule::parse(text);
      ++rules;
      const auto tick = next_tick(rule, {}, utc(2026, 11, 24));
      if (tick) BOOST_REQUIRE(rule.fits(local_seconds(tick->time_since_epoch())));
    } catch (const CronError& error) {
      BOOST_REQUIRE(std::string(error.what()).size() < 200);
    }
  }
  BOOST_TEST(rules > hostile_texts / 12);
  BOOST_TEST(refusal_of(std::string(100'000, '1')) == "the rule is longer than 1000 characters");
  BOOST_TEST(refusal_of("99999999999999999999 * * * *") != "");
}

// ---- What becomes of ticks that have come

namespace {

std::string due_text(std::string_view rule, sys_seconds last, sys_seconds now, std::chrono::seconds late, bool all) {
  const DueTicks due = due_ticks(CronRule::parse(rule), {}, last, now, late, all);
  std::string text;
  for (const sys_seconds tick : due.claims) text += text_of(tick).substr(5, 11) + ", ";
  if (due.passed) text += "passes to " + text_of(due.passed).substr(5, 11) + ", ";
  return text + std::to_string(due.missed) + " missed";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_tick_that_has_come_is_claimed_and_nothing_before_it) {
  BOOST_TEST(due_text("0 3 * * *", utc(2026, 11, 23, 3), utc(2026, 11, 24, 2, 59, 59), 1h, false) == "0 missed");
  BOOST_TEST(due_text("0 3 * * *", utc(2026, 11, 23, 3), utc(2026, 11, 24, 3), 1min, false) == "11-24 03:00, 0 missed");
}

BOOST_AUTO_TEST_CASE(the_last_of_the_missed_ticks_comes_unless_it_is_too_old) {
  BOOST_TEST(due_text("0 * * * *", utc(2026, 11, 24, 3), utc(2026, 11, 24, 7, 30), 1h, false) ==
             "11-24 07:00, 3 missed");
  BOOST_TEST(due_text("0 3 * * *", utc(2026, 11, 20, 3), utc(2026, 11, 24, 7, 30), 1h, false) ==
             "passes to 11-24 03:00, 4 missed");
}

BOOST_AUTO_TEST_CASE(all_ticks_that_are_young_enough_come_in_order) {
  BOOST_TEST(due_text("0 * * * *", utc(2026, 11, 24, 3), utc(2026, 11, 24, 7, 30), 2h, true) ==
             "11-24 06:00, 11-24 07:00, 2 missed");
}

BOOST_AUTO_TEST_CASE(a_year_of_seconds_is_passed_over_in_no_time) {
  const auto begin = steady_clock::now();
  const DueTicks due =
      due_ticks(CronRule::parse("* * * * * *"), {}, utc(2025, 11, 24), utc(2026, 11, 24), hours(366 * 24), false);
  BOOST_REQUIRE(due.claims.size() == 1u);
  BOOST_TEST(text_of(due.claims[0]) == "2026-11-24 00:00:00");
  BOOST_TEST(due.missed > 1'000);
  BOOST_TEST((steady_clock::now() - begin < 20s));
  const DueTicks all =
      due_ticks(CronRule::parse("* * * * * *"), {}, utc(2026, 11, 23), utc(2026, 11, 24), hours(24), true);
  BOOST_TEST(all.claims.size() == 500u);
  BOOST_TEST(text_of(all.claims[0]) == "2026-11-23 00:00:01");
}
