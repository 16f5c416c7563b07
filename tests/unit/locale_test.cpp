#include <boost/test/unit_test.hpp>

#include <chrono>
#include <sstream>
#include <string>

#include <brood/detail/write_arguments.hpp>

#include "shared/base/ascii.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/processors.hpp"
#include "shared/base/units.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/uniqueness.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "tests/support/german_locale.hpp"
#include "tests/support/reply_from_wire.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// 30.5 is 30,5 in this process, as C and C++ write it, and 1000 is 1.000 to a stream.
struct InGerman {
  const GermanLocale locale;
  InGerman() {
    GermanLocale::set();
    BOOST_REQUIRE(std::strtod("30,5", nullptr) == 30.5);
    std::ostringstream stream;
    stream << 1000;
    BOOST_REQUIRE(stream.str() == "1.000");
  }
};

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(in_german, InGerman)

BOOST_AUTO_TEST_CASE(a_fraction_of_a_second_in_a_payload_is_read) {
  const auto unique = uniqueness_of(
      Payload::parse(R"({"class":"A","jid":"0123456789abcdef01234567","queue":"q","args":[],"unique_for":30.5})"));
  BOOST_REQUIRE(unique);
  BOOST_TEST((unique->longest == 30500ms));
  BOOST_TEST(JsonObject::parse(R"({"n":1.5e3})").number("n").value() == 1500);
  BOOST_TEST(JsonObject::parse(R"({"n":1e-400})").number("n").value() == 0);  // by another way
}

BOOST_AUTO_TEST_CASE(what_redis_keeps_is_read) {
  const Reply classes =
      reply_from_wire("*2\r\n" + bulk("Crashes") + bulk("0123456789abcdef abcdef 1732800000.5 1234 2"));
  const QuarantinedClasses known = read_quarantined(classes.view());
  BOOST_REQUIRE(known.size() == 1u);
  BOOST_TEST(known.begin()->second.since == 1732800000.5);
  BOOST_TEST(known.begin()->second.crashes == 1234);
  const auto holder = read_limit_holder("host:1:abc/2.17", "17.5");
  BOOST_REQUIRE(holder);
  BOOST_TEST(holder->number == 17u);
  BOOST_TEST(holder->taking == 512u);
  BOOST_TEST(holder->score() == "17.5");
}

BOOST_AUTO_TEST_CASE(what_the_kernel_says_is_read) {
  TemporaryDirectory directory;
  directory.write("cpu.max", "150000 100000\n");
  const std::string membership = directory.write("membership", "0::/\n");
  BOOST_TEST(usable_processors(8, {.cgroups = directory.path(), .membership = membership}) == 2);
  std::istringstream words("1.5 1000 1.000,5");
  double fraction = 0, none = 0;
  int whole = 0;
  words >> plain(fraction) >> plain(whole);
  BOOST_TEST(fraction == 1.5);
  BOOST_TEST(whole == 1000);
  BOOST_TEST(!(words >> plain(none)));
}

BOOST_AUTO_TEST_CASE(what_people_write_into_a_configuration_is_read) { BOOST_TEST((parse_duration("1.5s") == 1500ms)); }

BOOST_AUTO_TEST_CASE(numbers_are_written_with_a_point) {
  std::string json;
  detail::write_value(json, std::vector<double>{30.5, 1000});
  BOOST_TEST(json == "[30.5,1000.0]");
}

BOOST_AUTO_TEST_CASE(letters_are_those_of_ascii) {
  BOOST_TEST(ascii::equal_in_any_case("Content-Type", "content-TYPE"));
  BOOST_TEST(!ascii::is_letter_or_digit('\xe4'));
}

BOOST_AUTO_TEST_SUITE_END()
