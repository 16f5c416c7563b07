#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>

#include "shared/base/nearest.hpp"
#include "shared/base/units.hpp"

using namespace brood;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(durations_are_numbers_with_units_and_a_bare_number_is_seconds) {
  BOOST_CHECK(parse_duration("25s") == 25s);
  BOOST_CHECK(parse_duration("2m") == 2min);
  BOOST_CHECK(parse_duration("180d") == 180 * 24h);
  BOOST_CHECK(parse_duration("1h30m") == 90min);
  BOOST_CHECK(parse_duration("1d2h3m4s5ms") == 24h + 2h + 3min + 4s + 5ms);
  BOOST_CHECK(parse_duration("500ms") == 500ms);
  BOOST_CHECK(parse_duration("10") == 10s);
  BOOST_CHECK(parse_duration("0") == 0s);
  BOOST_CHECK(parse_duration("1.5s") == 1500ms);
  BOOST_CHECK(parse_duration("0.25") == 250ms);
}

BOOST_AUTO_TEST_CASE(what_is_no_duration_is_refused) {
  for (const std::string text : {"",
                                 " ",
                                 "s",
                                 "-1s",
                                 "+1s",
                                 "1 s",
                                 "10s ",
                                 "1e9h",
                                 "1h1h",
                                 "30m1h",
                                 "1h30",
                                 "1s1",
                                 "5x",
                                 "1.s",
                                 ".5s",
                                 "1..5s",
                                 "0x10",
                                 "99999999999d",
                                 "9223372036854775808",
                                 "\xff",
                                 "1mms"}) {
    BOOST_TEST(!parse_duration(text).has_value(), "\"" << text << "\" was accepted");
  }
}

BOOST_AUTO_TEST_CASE(durations_are_shown_in_their_two_largest_units) {
  BOOST_TEST(duration_text(0ms) == "0s");
  BOOST_TEST(duration_text(250ms) == "250ms");
  BOOST_TEST(duration_text(25'400ms) == "25s");
  BOOST_TEST(duration_text(125s) == "2m5s");
  BOOST_TEST(duration_text(2h) == "2h");
  BOOST_TEST(duration_text(2h + 5s) == "2h");
  BOOST_TEST(duration_text(76h + 30min) == "3d4h");
  BOOST_TEST(duration_text(-90s) == "-1m30s");
}

BOOST_AUTO_TEST_CASE(sizes_are_bytes_or_powers_of_1024) {
  BOOST_CHECK(parse_size("0") == 0u);
  BOOST_CHECK(parse_size("4096") == 4096u);
  BOOST_CHECK(parse_size("64K") == 64u * 1024);
  BOOST_CHECK(parse_size("512M") == 512u * 1024 * 1024);
  BOOST_CHECK(parse_size("2G") == 2ull << 30);
  BOOST_CHECK(parse_size("1T") == 1ull << 40);
  for (const std::string text :
       {"", "M", "-1", "1.5G", "512MB", "512m", "1 G", "99999999999T", "18446744073709551616"}) {
    BOOST_TEST(!parse_size(text).has_value(), "\"" << text << "\" was accepted");
  }
}

BOOST_AUTO_TEST_CASE(the_nearest_word_is_suggested_only_when_it_is_near) {
  const std::vector<std::string> known{"concurrency", "queues", "require", "tag"};
  BOOST_TEST(nearest("concurency", known).value_or("") == "concurrency");
  BOOST_TEST(nearest("queue", known).value_or("") == "queues");
  BOOST_TEST(nearest("requrie", known).value_or("") == "require");
  BOOST_TEST(nearest("tga", known).value_or("") == "tag");
  BOOST_TEST(!nearest("colour", known).has_value());
  BOOST_TEST(!nearest(std::string(1'000'000, 'q'), known).has_value());
}
