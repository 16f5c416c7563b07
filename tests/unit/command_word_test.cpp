#include "shared/config/executable.hpp"

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>

using namespace brood;

namespace {

// "a{1}b" as "a|1|b", all arguments as "*".
std::string parts_of(const std::string& word) {
  std::string shown;
  for (const WordPart& part : parse_command_word(word)) {
    if (!shown.empty()) shown += '|';
    shown += part.kind == WordPart::Kind::text       ? part.text
             : part.kind == WordPart::Kind::argument ? std::to_string(part.argument)
                                                     : "*";
  }
  return shown;
}

std::string complaint(const std::string& word) {
  try {
    return "none: " + parts_of(word);
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    return what.substr(0, what.find(';'));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_word_is_text_and_places_for_arguments) {
  BOOST_TEST(parts_of("") == "");
  BOOST_TEST(parts_of("-i") == "-i");
  BOOST_TEST(parts_of("{0}") == "0");
  BOOST_TEST(parts_of("--size={1}x{2}") == "--size=|1|x|2");
  BOOST_TEST(parts_of("{0}{0}") == "0|0");
  BOOST_TEST(parts_of("{999}") == "999");
  BOOST_TEST(parts_of("{args}") == "*");
}

BOOST_AUTO_TEST_CASE(doubled_braces_are_braces) {
  BOOST_TEST(parts_of("{{0}}") == "{0}");
  BOOST_TEST(parts_of("{{\"id\":{0}}}") == "{\"id\":|0|}");
}

BOOST_AUTO_TEST_CASE(what_stands_for_nothing_is_refused) {
  BOOST_TEST(complaint("{}") == "\"{}\" stands for nothing");
  BOOST_TEST(complaint("{-1}") == "\"{-1}\" stands for nothing");
  BOOST_TEST(complaint("{1000}") == "\"{1000}\" stands for nothing");
  BOOST_TEST(complaint("{99999999999999999999}") == "\"{99999999999999999999}\" stands for nothing");
  BOOST_TEST(complaint("{0 }") == "\"{0 }\" stands for nothing");
  BOOST_TEST(complaint("{jid}") == "\"{jid}\" stands for nothing");
  BOOST_TEST(complaint("a{") == "a single {");
  BOOST_TEST(complaint("a}") == "a single }");
  BOOST_TEST(complaint("{0") == "a single {");
  BOOST_TEST(complaint("--all={args}") == "{args} must be a word of its own");
}
