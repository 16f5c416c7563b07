#include "shared/json/json.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "shared/job/payload.hpp"
#include "shared/json/json_object.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::string_literals;

namespace {

std::string refusal(std::string_view text) {
  try {
    JsonOutline::of(text);
  } catch (const BadJson& error) {
    return error.what();
  }
  return "";
}

WallTime at_nanoseconds(std::int64_t n) { return WallTime(std::chrono::nanoseconds(n)); }

}  // namespace

BOOST_AUTO_TEST_CASE(strings_are_written_as_ruby_writes_them) {
  const auto vector = test::vectors("canonical-json").at(0);
  const auto expected = json_elements(vector.expect["text"].text);
  const auto& values = vector.input["value"].elements;
  BOOST_REQUIRE_EQUAL(expected.size(), values.size());

  int strings = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind != test::VectorValue::Kind::string) continue;
    BOOST_TEST(json_string(values[i].text) == expected[i]);
    BOOST_TEST(json_unescape(expected[i]) == values[i].text);
    ++strings;
  }
  BOOST_TEST(strings == 5);
}

BOOST_AUTO_TEST_CASE(the_canonical_text_is_json_with_its_numbers_untouched) {
  const std::string text = test::vectors("canonical-json").at(0).expect["text"].text;

  const auto elements = json_elements(text);

  BOOST_TEST(elements[11] == "1180591620717411303424");
  BOOST_TEST(elements[6] == "1.0e+15");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf8_become_one_replacement_a_run) {
  BOOST_TEST(json_string("a\xff\xfe"
                         "b") ==
             "\"a\xef\xbf\xbd\xef\xbf\xbd"
             "b\"");
  BOOST_TEST(json_string("\xe2\x82"
                         "x") == "\"\xef\xbf\xbdx\"");                                    // cut short: one run
  BOOST_TEST(json_string("\xf0\x9f\x98") == "\"\xef\xbf\xbd\"");                          // at the end
  BOOST_TEST(json_string("\xc0\x80") == "\"\xef\xbf\xbd\xef\xbf\xbd\"");                  // overlong
  BOOST_TEST(json_string("\xed\xa0\x80") == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");  // a surrogate
  BOOST_TEST(json_string("\xf4\x90\x80\x80").size() == 2 + 4 * 3);                        // above U+10FFFF
  BOOST_TEST(json_string("\0"s) == "\"\\u0000\"");
}

BOOST_AUTO_TEST_CASE(escapes_are_read_in_every_spelling) {
  BOOST_TEST(json_unescape(R"("\u0041\/\\\"\b\f\n\r\t")") == "A/\\\"\b\f\n\r\t");
  BOOST_TEST(json_unescape(R"("\u00e9\u20AC\ud83d\ude00")") == "é€😀");
  BOOST_TEST(json_unescape(R"("\u0000")") == "\0"s);
  BOOST_TEST(json_unescape(R"("\ud800x\udc00\ud83d\u0041")") ==
             "\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd"
             "A");
  BOOST_TEST(json_unescape(R"("\ud83d\ud83d\ude00")") == "\xef\xbf\xbd😀");
}

BOOST_AUTO_TEST_CASE(one_value_with_white_space_around_it_is_json) {
  for (const char* text : {"1", " -0 ", "1e5", "1E400", "0.5", "-1.5e-7", "\"\"", "\"a\\\"b\"", "null", "true\n", "[]",
                           "{}", "\t[1 , 2]\r\n", "[[],{}]", R"({"a":{"b":[null]}})", R"("\ud800")"}) {
    BOOST_TEST(is_json(text), text);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_refused) {
  for (const char* text : {"",
                           " ",
                           "nul",
                           "nulll",
                           "True",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "[NaN]",
                           "[-]",
                           "01",
                           "[01]",
                           "1.",
                           "[.5]",
                           "[1.]",
                           "+1",
                           "1e",
                           "[1e+]",
                           "0x1",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[1",
                           "]",
                           "[1}",
                           "{",
                           "}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{1:1}",
                           "{\"a\" 1}",
                           "{\"a\":1 \"b\":2}",
                           "{\"a\":\"b\":1}",
                           "{\"a\":1:2}",
                           "{\"a\":\"b\" \"c\":1}",
                           "[1]]",
                           "{}}",
                           "{}{}",
                           "{} 1",
                           "1 2",
                           "\"a",
                           "\"a\"b\"",
                           "\"a\" \"b\"",
                           "\"\\q\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\\"",
                           "\"\n\"",
                           "[\"\n\"]",
                           "[\"\x01\"]",
                           "'a'",
                           "[1//x\n]",
                           "/**/1",
                           "\xef\xbb\xbf{}",
                           "[\"\xff\"]",
                           "\"\xff\"",
                           "[\"\xed\xa0\x80\"]",
                           "{\"\\x\":1}",
                           "[\"a\"1]",
                           "[1\"a\"]",
                           "[truefalse]",
                           "[true false]",
                           "{\"a\":[1}",
                           "[{]}",
                           "\xfe\xff",
                           "[1,\v2]"}) {
    BOOST_TEST(!is_json(text), text);
  }
  BOOST_TEST(!is_json("{}\0"s));
  BOOST_TEST(!is_json("[1\0]"s));
  BOOST_TEST(!is_json("[\"\0\"]"s));
  BOOST_TEST(!is_json("{\0\"\0a\0\"\0:\0001\0}\0"s));  // UTF-16
}

BOOST_AUTO_TEST_CASE(a_refusal_names_the_byte) {
  BOOST_TEST(refusal("[1,2,x]") == "unexpected x at byte 5");
  BOOST_TEST(refusal("not json") == "unexpected n at byte 0");
  BOOST_TEST(refusal("{\"a\":[1,2]} {}") == "a second value at byte 12");
  BOOST_TEST(refusal("{\"a\":1") == "it ends too early at byte 6");
  BOOST_TEST(refusal("[\"ab\\q\"]") == "an unknown escape at byte 4");
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  const std::string text = R"({"class":"A","args":[1,{"x":[true,null,"\u00e9"]},-1.5e3],"n":{"a":{}}})";
  BOOST_REQUIRE(is_json(text));
  for (std::size_t length = 0; length < text.size(); ++length) BOOST_TEST(!is_json(text.substr(0, length)), length);
}

BOOST_AUTO_TEST_CASE(a_hundred_levels_are_read_and_one_more_is_not) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  BOOST_TEST(is_json(nested(100)));
  BOOST_TEST(!is_json(nested(101)));
  BOOST_TEST(refusal(nested(101)).starts_with("nested deeper than 100 levels"));
  BOOST_TEST(!is_json(nested(1'000'000)));
  BOOST_TEST(!is_json(std::string(1'000'000, '[')));

  std::string objects;
  for (int i = 0; i < 300'000; ++i) objects += "{\"a\":";
  BOOST_TEST(!is_json(objects));
}

BOOST_AUTO_TEST_CASE(numbers_of_any_length_pass_and_long_texts_are_read) {
  BOOST_TEST(json_elements("[" + std::string(1'000'000, '9') + "]").at(0).size() == 1'000'000U);
  BOOST_TEST(json_elements("[18446744073709551616, 1E400,-0]") ==
                 (std::vector<std::string>{"18446744073709551616", "1E400", "-0"}),
             boost::test_tools::per_element());
  BOOST_TEST(is_json("\"" + std::string(10'000'000, 'x') + "\""));
  std::string many = "[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",1";
  BOOST_TEST(json_elements(many + "]").size() == 1'000'001U);
}

BOOST_AUTO_TEST_CASE(elements_are_given_as_written) {
  const auto elements = json_elements(" [ 1 , \"a, b\" ,[ 2 ] , { \"x\" : [ ] } , null ] ");

  BOOST_TEST(elements == (std::vector<std::string>{"1", "\"a, b\"", "[ 2 ]", "{ \"x\" : [ ] }", "null"}),
             boost::test_tools::per_element());
  BOOST_CHECK_THROW(json_elements("{}"), BadJson);
  BOOST_TEST(json_elements("[]").empty());
}

BOOST_AUTO_TEST_CASE(an_object_loses_and_gains_members) {
  const JsonObject empty = JsonObject::parse(" { } ");
  BOOST_TEST(empty.with({{"a", "1"}}).text() == " {\"a\":1 } ");

  const JsonObject object = JsonObject::parse(R"({ "a" : 1 , "b":2, "a":3 })");
  BOOST_TEST(object.with({{"a", std::nullopt}}).text() == R"({ "b":2 })");
  BOOST_TEST(object.with({{"b", std::nullopt}}).text() == R"({ "a" : 1, "a":3 })");
  BOOST_TEST(object.with({{"a", std::nullopt}, {"b", std::nullopt}}).text() == "{  }");
  BOOST_TEST(object.with({{"a", std::nullopt}, {"b", std::nullopt}, {"c", "4"}}).text() == R"({ "c":4 })");
  BOOST_TEST(object.with({{"c", "4"}, {"c", "5"}}).text() == R"({ "a" : 1 , "b":2, "a":3,"c":5 })");
  BOOST_TEST(object.with({{"a", "[]"}}).text() == R"({ "a" : 1 , "b":2, "a":[] })");
  BOOST_CHECK_THROW(object.with({{"a", "1,\"x\":2"}}), BadJson);
  BOOST_CHECK_THROW(object.with({{"a", ""}}), BadJson);
}

BOOST_AUTO_TEST_CASE(numbers_that_no_double_holds_are_read_as_ruby_reads_them) {
  const JsonObject object =
      JsonObject::parse(R"({"big":1E400,"low":-1e400,"tiny":1e-400,"i":18446744073709551616,"s":"1"})");
  BOOST_TEST(object.number("big").value() == std::numeric_limits<double>::infinity());
  BOOST_TEST(object.number("low").value() == -std::numeric_limits<double>::infinity());
  BOOST_TEST(object.number("tiny").value() == 0.0);
  BOOST_TEST(!object.integer("i"));
  BOOST_TEST(object.number("i").value() == 18446744073709551616.0);
  BOOST_TEST(!object.number("s"));
}

BOOST_AUTO_TEST_CASE(float_times_always_carry_a_fraction) {
  BOOST_TEST(json_time(at_nanoseconds(1795237403'000000000), TimeUnit::float_seconds) == "1795237403.0");
  BOOST_TEST(json_time(at_nanoseconds(1795237318'514200000), TimeUnit::float_seconds) == "1795237318.5142");
  BOOST_TEST(json_time(at_nanoseconds(1795237318'514999999), TimeUnit::integer_milliseconds) == "1795237318514");
  BOOST_TEST(json_time(at_nanoseconds(0), TimeUnit::float_seconds) == "0.0");
  BOOST_TEST(json_time(at_nanoseconds(1000), TimeUnit::float_seconds).find("e") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_float_time_that_ruby_wrote_is_written_again) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const double seconds = std::uniform_real_distribution<double>(1e9, 4e9)(random);
    const auto text = score_text(seconds);
    BOOST_REQUIRE_EQUAL(std::stod(text), seconds);
    if (text.find('.') == std::string::npos) continue;
    const Payload payload = Payload::parse(R"({"class":"A","args":[],"t":)" + text + "}");
    BOOST_REQUIRE_EQUAL(json_time(*payload.time("t"), TimeUnit::float_seconds), text);
  }
}

BOOST_AUTO_TEST_CASE(scores_are_short_and_plain) {
  BOOST_TEST(score_text(2000000000) == "2000000000");
  BOOST_TEST(score_text(2000000000.123456) == "2000000000.123456");
  BOOST_TEST(score_text(1795237324.1894321) == "1795237324.1894321");
  BOOST_TEST(score_text(0) == "0");
  BOOST_TEST(score_text(1.5) == "1.5");
  BOOST_TEST(score_text(-1) == "-1");
  BOOST_TEST(std::stod(score_text(1e300)) == 1e300);
}

BOOST_AUTO_TEST_CASE(a_shape_has_the_keys_and_none_of_the_values) {
  BOOST_TEST(json_shape(R"([ {"card":"4111","of":{"a\"b":[1,null,true]}} ,"x", 1e400])", "…") ==
             R"([{"card":…,"of":{"a\"b":[…,…,…]}},…,…])");
  BOOST_TEST(json_shape("[]", "…") == "[]");
  BOOST_TEST(json_shape(R"({"a":{},"a":1})", "null") == R"({"a":{},"a":null})");
  BOOST_TEST(json_shape("\"secret\"", "null") == "null");
  BOOST_CHECK_THROW(json_shape("[secret", "null"), BadJson);
}

BOOST_AUTO_TEST_CASE(a_prefix_counts_characters_not_bytes) {
  BOOST_TEST(utf8_prefix("é€😀x", 3) == "é€😀");
  BOOST_TEST(utf8_prefix("\xff\xff"
                         "ab",
                         3) ==
             "\xef\xbf\xbd\xef\xbf\xbd"
             "a");
  BOOST_TEST(utf8_prefix("abc", 10) == "abc");
}
