#include "worker/job/program_arguments.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

using namespace brood;

namespace {

using Words = std::vector<std::string>;

void check_words(const Words& run, const std::string& args, const Words& expected) {
  BOOST_TEST(program_words(run, args) == expected, boost::test_tools::per_element());
}

std::string complaint(const Words& run, const std::string& args) {
  try {
    program_words(run, args);
    return "";
  } catch (const BadArgument& bad) {
    return bad.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_place_gets_its_argument) {
  check_words({"ffmpeg", "-i", "{0}", "--size={1}x{1}"}, R"(["a b.mkv",320])",
              {"ffmpeg", "-i", "a b.mkv", "--size=320x320"});
}

BOOST_AUTO_TEST_CASE(strings_are_passed_as_they_are) {
  check_words({"p", "{0}", "{1}", "{2}"}, R"(["$(rm) \"x\" 'y' {0} {{",  "gr\u00fcn\n", ""])",
              {"p", "$(rm) \"x\" 'y' {0} {{", "grün\n", ""});
}

BOOST_AUTO_TEST_CASE(all_else_is_passed_as_its_json_text_and_null_as_nothing) {
  check_words({"p", "{args}"}, R"([12345678901234567890, 1.50, 1e3, true, false, null, [1, 2], {"a" : "\u00fc"}])",
              {"p", "12345678901234567890", "1.50", "1e3", "true", "false", "", "[1, 2]", R"({"a" : "\u00fc"})"});
}

BOOST_AUTO_TEST_CASE(all_arguments_are_spread_even_if_there_is_none) {
  check_words({"p", "-a", "{args}", "-z"}, "[]", {"p", "-a", "-z"});
  check_words({"p", "-a", "{args}", "-z"}, R"(["x", ""])", {"p", "-a", "x", "", "-z"});
}

BOOST_AUTO_TEST_CASE(more_arguments_than_places_are_no_mistake) { check_words({"p", "{1}"}, "[1,2,3]", {"p", "2"}); }

BOOST_AUTO_TEST_CASE(an_argument_that_is_missing_is_named) {
  BOOST_TEST(complaint({"p", "{0}", "{2}"}, "[1,2]") == "argument 2 is missing: the job has 2");
}

BOOST_AUTO_TEST_CASE(a_nul_character_fits_into_no_word) {
  BOOST_TEST(complaint({"p", "{0}"}, R"(["a\u0000b"])") ==
             "argument 0 holds a NUL character, which no program can be given");
}
