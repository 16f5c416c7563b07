#include <zlib.h>

#include <boost/test/unit_test.hpp>

#include "shared/job/retry_decision.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using Lines = std::vector<std::string>;

namespace {

// zlib and base64 by other means than the code under test, so that a bomb can be made of any text.
std::string packed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string bytes(size, '\0');
  BOOST_REQUIRE_EQUAL(
      compress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size()),
      Z_OK);
  bytes.resize(size);
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bits, out;
  for (const char c : bytes)
    for (int i = 7; i >= 0; --i) bits += (static_cast<unsigned char>(c) >> i & 1) ? '1' : '0';
  while (bits.size() % 6 != 0) bits += '0';
  for (std::size_t i = 0; i < bits.size(); i += 6) out += digits[std::stoul(bits.substr(i, 6), nullptr, 2)];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_every_release_wrote_is_read) {
  for (const auto& vector : test::vectors("backtrace-decode-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      Lines expected;
      for (const auto& line : vector.expect["lines"].elements) expected.push_back(line.text);

      const auto lines = decode_backtrace(vector.input["error_backtrace"].text);

      BOOST_REQUIRE(lines);
      BOOST_TEST(*lines == expected, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_lines_give_the_text_that_ruby_8_wrote) {
  for (const auto& vector : test::vectors("backtrace-decode-")) {
    if (!vector.id.ends_with("8.1.7")) continue;
    Lines lines;
    for (const auto& line : vector.expect["lines"].elements) lines.push_back(line.text);
    BOOST_TEST(encode_backtrace(lines) == vector.input["error_backtrace"].text);
  }
}

BOOST_AUTO_TEST_CASE(any_lines_come_back) {
  const Lines lines{"", "a \"quoted\" \\ line\n", "std::vector<int>::at() <é😀>", std::string(5000, 'x')};
  BOOST_TEST(*decode_backtrace(encode_backtrace(lines)) == lines, boost::test_tools::per_element());
  BOOST_TEST(decode_backtrace(encode_backtrace({}))->empty());

  for (std::size_t length = 0; length < 64; ++length) {  // every length of the last base64 group
    const Lines one{std::string(length, 'a') + std::to_string(length * 7919)};
    BOOST_TEST(*decode_backtrace(encode_backtrace(one)) == one, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf8_are_stored_as_replacements) {
  BOOST_TEST(decode_backtrace(encode_backtrace({"a\xff"}))->at(0) == "a\xef\xbf\xbd");
}

BOOST_AUTO_TEST_CASE(what_is_no_backtrace_is_nothing) {
  for (const std::string& text :
       {std::string(), std::string("===="), std::string("not base64"), std::string(1000, 'A'), packed("not json"),
        packed("{}"), packed("[1]"), packed("[null]"), packed("[\"a\"] x"), packed("")}) {
    BOOST_TEST(!decode_backtrace(text), text);
  }
  const std::string good = packed("[\"one line\"]");
  BOOST_REQUIRE(decode_backtrace(good));
  for (std::size_t length = 0; length + 4 < good.size(); ++length)
    BOOST_TEST(!decode_backtrace(good.substr(0, length)));
}

BOOST_AUTO_TEST_CASE(a_bomb_is_refused_at_the_limit) {
  const std::string bomb = packed("[\"" + std::string(200 << 20, 'a') + "\"]");
  BOOST_REQUIRE_LT(bomb.size(), 1U << 20);

  BOOST_TEST(!decode_backtrace(bomb));

  const std::string small = packed("[\"" + std::string(96, 'a') + "\"]");  // 100 bytes
  BOOST_TEST(decode_backtrace(small, 100).has_value());
  BOOST_TEST(!decode_backtrace(small, 99));
}
