#include "shared/json/json_writer.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using namespace brood;

BOOST_AUTO_TEST_CASE(an_object_without_members_is_empty) { BOOST_TEST(JsonWriter().object() == "{}"); }

BOOST_AUTO_TEST_CASE(members_stand_in_the_order_of_their_writing) {
  BOOST_TEST(JsonWriter().text("b", "x").number("a", 1).truth("c", false).null("d").object() ==
             R"({"b":"x","a":1,"c":false,"d":null})");
}

BOOST_AUTO_TEST_CASE(texts_are_escaped) {
  BOOST_TEST(JsonWriter().text("t", "a\"\\\n").texts("all", {"\"", ""}).object() ==
             R"({"t":"a\"\\\n","all":["\"",""]})");
}

BOOST_AUTO_TEST_CASE(numbers_keep_all_their_digits_and_decimals_have_as_many_as_asked_for) {
  BOOST_TEST(JsonWriter()
                 .number("most", UINT64_MAX)
                 .number("least", INT64_MIN)
                 .decimal("seconds", 1.0 / 3)
                 .decimal("more", 2.5, 6)
                 .object() ==
             R"({"most":18446744073709551615,"least":-9223372036854775808,"seconds":0.333,"more":2.500000})");
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_null) {
  BOOST_TEST(JsonWriter()
                 .number("n", std::optional<int>())
                 .decimal("d", std::optional<double>())
                 .text_or_null("t", "")
                 .number("m", std::optional<int>(0))
                 .object() == R"({"n":null,"d":null,"t":null,"m":0})");
}

BOOST_AUTO_TEST_CASE(an_array_holds_what_is_made_of_each) {
  const std::vector<int> numbers{1, 2};
  const auto object_of = [](int number) { return JsonWriter().number("is", number).object(); };
  BOOST_TEST(JsonWriter().each("all", numbers, object_of).json("raw", "[3]").object() ==
             R"({"all":[{"is":1},{"is":2}],"raw":[3]})");
}
