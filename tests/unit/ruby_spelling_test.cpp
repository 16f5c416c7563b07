#include "shared/job/ruby_spelling.hpp"

#include <brood/detail/json_reader.hpp>
#include <brood/detail/write_arguments.hpp>

#include <boost/test/unit_test.hpp>

#include "shared/api/push/push_writer.hpp"
#include "shared/json/json.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(what_ruby_wrote_stays_as_it_is) {
  const std::string text = test::vectors("canonical-json").at(0).expect["text"].text;
  BOOST_TEST(ruby_spelling(text) == text);
  for (const char* const json : {"[]", "{}", R"({"a":{"b":[null,true,false]}})", R"(["\u001b\"\\","/","é😀"])"})
    BOOST_TEST(ruby_spelling(json) == json);
}

BOOST_AUTO_TEST_CASE(white_space_and_escapes_without_need_go) {
  BOOST_TEST(ruby_spelling(" [ 1 ,\t{ \"a\" : [ ] ,\n\"b\":{ } } ]\r\n") == R"([1,{"a":[],"b":{}}])");
  BOOST_TEST(ruby_spelling(R"(["\/","\u00e9","\ud83d\ude00","\u001F","\u0041","\u000a"," "])") ==
             R"(["/","é","😀","\u001f","A","\n"," "])");
  BOOST_TEST(ruby_spelling(R"({"\u0061":1})") == R"({"a":1})");
}

BOOST_AUTO_TEST_CASE(numbers_keep_their_value_and_what_they_are) {
  const std::pair<const char*, const char*> spellings[] = {
      {"1", "1"},        {"-0", "0"},           {"1.0", "1.0"},      {"1.50", "1.5"},        {"0.000", "0.0"},
      {"-0.0", "-0.0"},  {"529.080", "529.08"}, {"1e3", "1000.0"},   {"1E-7", "1.0e-07"},    {"1e22", "1.0e+22"},
      {"0.10e1", "1.0"}, {"100.0", "100.0"},    {"12.5e-1", "1.25"}, {"1.0e+15", "1.0e+15"}, {"0.00001", "1.0e-05"}};
  for (const auto& [typed, written] : spellings) BOOST_TEST(ruby_spelling(typed) == written);
}

BOOST_AUTO_TEST_CASE(a_number_beyond_a_float_keeps_its_text) {
  for (const char* const number : {"3.14159265358979323846", "1180591620717411303424", "1E400", "1e-400",
                                   "0.1000000000000000055511151231257827", "9007199254740993.0"})
    BOOST_TEST(ruby_spelling(number) == number);
}

BOOST_AUTO_TEST_CASE(the_last_value_of_a_key_given_twice_counts_in_the_place_of_the_first) {
  BOOST_TEST(ruby_spelling(R"({"a":1,"b":2,"a":{"c":1,"c":2}})") == R"({"a":{"c":2},"b":2})");
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_refused) {
  for (const char* const text : {"", "[", "[1,]", "1 2", "nul", "{\"a\"}", "\"\\ud800\"", "01"})
    BOOST_CHECK_THROW(ruby_spelling(text), detail::BadJson);
  BOOST_CHECK_THROW(ruby_spelling(std::string(100, '[') + std::string(100, ']'), 1), detail::BadJson);
  BOOST_CHECK_NO_THROW(ruby_spelling(std::string(99, '[') + std::string(99, ']'), 1));
}

BOOST_AUTO_TEST_CASE(a_push_that_was_typed_is_written_so) {
  Push typed{.job_class = "A",
             .args = "[ 1.50, {\"a\" : 1} ]",
             .jid = "j",
             .members = {{"tags", "[ \"old\" ]"}, {"timeout", "2.50"}, {"tags", "[\"\\u00e9\" ]"}}};
  spell_as_ruby(typed);
  const ClientPush push =
      prepare_push(typed, WallTime(std::chrono::milliseconds(1795237318500)), TimeUnit::float_seconds);
  BOOST_TEST(push.payload == R"({"retry":true,"queue":"default","timeout":2.5,"tags":["é"],"class":"A",)"
                             R"("args":[1.5,{"a":1}],"jid":"j","created_at":1795237318.5,"enqueued_at":1795237318.5})");
}

// A program may spell its pushes as it likes, and may take a job out of Redis again by its bytes.
BOOST_AUTO_TEST_CASE(a_push_of_a_program_keeps_its_arguments) {
  const ClientPush push = prepare_push({.job_class = "A", .args = R"(["any", 1.50])"}, WallTime{});
  BOOST_TEST(push.payload.find(R"("args":["any", 1.50])") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(floats_are_rubys) {
  BOOST_TEST(json_float(0) == "0.0");
  BOOST_TEST(json_float(12) == "12.0");
  BOOST_TEST(json_float(529.08) == "529.08");
  BOOST_TEST(json_float(1e-5) == "1.0e-05");
  BOOST_TEST(json_float(1.5e20) == "1.5e+20");
  BOOST_TEST(json_float(1e14) == "100000000000000.0");
  BOOST_TEST(json_float(1e15) == "1.0e+15");
  BOOST_TEST(json_float(1e15 + 0.5) == "1000000000000000.5");
  BOOST_TEST(json_float(-(1e15 + 0.125)) == "-1000000000000000.1");
  BOOST_TEST(json_float(4503599627370495.5) == "4503599627370495.5");
  BOOST_TEST(json_float(9007199254740994) == "9.007199254740994e+15");
  BOOST_TEST(json_float(1e16) == "1.0e+16");
  BOOST_TEST(json_float(0.0001) == "0.0001");
  std::string of_long_double;
  detail::write_floating(of_long_double, 1 / 3.0L);
  BOOST_TEST(of_long_double == "0.3333333333333333");
  BOOST_CHECK_THROW(detail::write_floating(of_long_double, 1e400L), std::invalid_argument);
}
