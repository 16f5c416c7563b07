#include "worker/guard/output_tail.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

using namespace brood;

BOOST_AUTO_TEST_CASE(lines_come_back_in_their_order_without_blank_ones) {
  OutputTail tail;
  for (const char* piece : {"one\n", "\n tw", "o\r\n", " \t\n", "three"}) tail.add(piece);
  BOOST_TEST(tail.lines() == (std::vector<std::string>{"one", " two", "three"}), boost::test_tools::per_element());
  BOOST_TEST(OutputTail().lines().empty());
}

BOOST_AUTO_TEST_CASE(the_last_of_many_lines_are_kept_and_whole) {
  OutputTail tail;
  for (int i = 0; i < 100'000; ++i) tail.add("line " + std::to_string(i) + "\n");
  const auto lines = tail.lines();
  BOOST_REQUIRE(lines.size() == OutputTail::most_lines);
  BOOST_TEST(lines.front() == "line 99950");
  BOOST_TEST(lines.back() == "line 99999");
}

BOOST_AUTO_TEST_CASE(a_line_cut_in_its_middle_is_left_out_unless_it_is_all_there_is) {
  OutputTail tail;
  tail.add(std::string(3 * OutputTail::most_bytes, 'x') + "\nlast\n");
  BOOST_TEST(tail.lines() == std::vector<std::string>{"last"}, boost::test_tools::per_element());

  OutputTail endless;
  for (int i = 0; i < 100; ++i) endless.add(std::string(4096, 'y'));
  BOOST_TEST(endless.lines() == std::vector<std::string>{std::string(OutputTail::longest_line, 'y')},
             boost::test_tools::per_element());
  endless.add("\n");
  BOOST_TEST(endless.lines().size() == 1U);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf_8_are_replaced) {
  OutputTail tail;
  tail.add("a\xff\n");
  BOOST_TEST(tail.lines().at(0) == "a\uFFFD");
}
