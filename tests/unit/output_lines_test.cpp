#include "supervisor/workers/output/output_lines.hpp"

#include <boost/test/unit_test.hpp>
#include <climits>
#include <random>
#include <string>
#include <vector>

#include "shared/scoreboard/job_end_mark.hpp"
#include "supervisor/workers/output/token_bucket.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Kind = OutputLines::Item::Kind;

std::string shown(const OutputLines::Item& item) {
  switch (item.kind) {
    case Kind::line:
      return "line " + std::string(item.text);
    case Kind::part:
      return "part " + std::string(item.text);
    case Kind::end_of_job:
      return "end " + std::string(item.jid) + " " + std::string(item.job_class);
  }
  return "";
}

std::vector<std::string> items(OutputLines& lines) {
  std::vector<std::string> all;
  while (const auto item = lines.next()) all.push_back(shown(*item));
  return all;
}

std::vector<std::string> items_of(const std::string& bytes) {
  OutputLines lines("token");
  lines.add(bytes);
  return items(lines);
}

using Items = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(bytes_come_out_as_lines_however_they_arrive) {
  const std::string bytes = "one\n\ntwo\r\n" + job_end_mark("token", "j1", "C") + "th" +
                            job_end_mark("token", "j2", "D") + std::string("\0nul\n", 5);
  const Items expected = {
      "line one", "line ", "line two\r", "end j1 C", "line th", "end j2 D", std::string("line \0nul", 9)};
  BOOST_TEST(items_of(bytes) == expected, boost::test_tools::per_element());

  OutputLines bytewise("token");
  Items all;
  for (const char byte : bytes) {
    bytewise.add({&byte, 1});
    for (const std::string& item : items(bytewise)) all.push_back(item);
  }
  BOOST_TEST(all == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_has_no_newline_yet_waits_until_it_is_asked_for) {
  OutputLines lines("token");
  lines.add("one\ntwo");
  BOOST_TEST(items(lines) == Items{"line one"}, boost::test_tools::per_element());
  BOOST_TEST(lines.has_unfinished());
  BOOST_TEST(shown(lines.take_unfinished(Kind::part)) == "part two");
  BOOST_TEST(!lines.has_unfinished());
  lines.add(" more\n");
  BOOST_TEST(items(lines) == Items{"line  more"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_line_longer_than_8_kb_comes_in_parts) {
  const std::string long_line(20'000, 'x');
  const Items parts = items_of(long_line + "\nnext\n");
  BOOST_REQUIRE(parts.size() == 4u);
  BOOST_TEST(parts[0] == "part " + std::string(8192, 'x'));
  BOOST_TEST(parts[1] == "part " + std::string(8192, 'x'));
  BOOST_TEST(parts[2] == "line " + std::string(20'000 - 2 * 8192, 'x'));
  BOOST_TEST(parts[3] == "line next");
}

BOOST_AUTO_TEST_CASE(a_line_that_never_ends_does_not_pile_up) {
  OutputLines lines("token");
  std::size_t handed_out = 0;
  for (int i = 0; i < 1000; ++i) {
    lines.add(std::string(1000, 'x'));
    while (const auto item = lines.next()) handed_out += item->text.size();
    BOOST_REQUIRE(static_cast<std::size_t>(i + 1) * 1000 - handed_out <= OutputLines::longest_line + PIPE_BUF);
  }
}

BOOST_AUTO_TEST_CASE(a_part_ends_between_characters_where_there_are_any) {
  const Items utf8 = items_of("x" + [] {
    std::string text;
    for (int i = 0; i < 4000; ++i) text += "\xe2\x82\xac";  // €
    return text;
  }() + "\n");
  BOOST_REQUIRE(utf8.size() == 2u);
  BOOST_TEST((utf8[0].size() - 5 - 1) % 3 == 0u);
  const Items rubbish = items_of(std::string(9000, '\xbf') + "\n");
  BOOST_REQUIRE(rubbish.size() == 2u);
  BOOST_TEST(rubbish[0].size() == 5 + OutputLines::longest_line);
}

BOOST_AUTO_TEST_CASE(a_mark_behind_a_long_line_is_found_wherever_the_bytes_are_cut) {
  const std::string line(OutputLines::longest_line - 2, 'x');
  const std::string bytes = line + job_end_mark("token", "jid", "Class");
  for (std::size_t cut = line.size(); cut < bytes.size(); ++cut) {
    OutputLines lines("token");
    lines.add(bytes.substr(0, cut));
    Items all = items(lines);
    lines.add(bytes.substr(cut));
    for (const std::string& item : items(lines)) all.push_back(item);
    BOOST_REQUIRE((all == Items{"line " + line, "end jid Class"}));
  }
}

BOOST_AUTO_TEST_CASE(a_mark_with_another_token_or_cut_short_is_text) {
  const std::string foreign = job_end_mark("other", "j", "C");
  const std::string without_newline = foreign.substr(0, foreign.size() - 1);
  BOOST_TEST(items_of(foreign) == Items{"line " + without_newline}, boost::test_tools::per_element());
  BOOST_TEST(items_of("\x1etoken\x1fjid alone\n") == Items{"line \x1etoken\x1fjid alone"},
             boost::test_tools::per_element());
  BOOST_TEST(items_of("\x1e\n") == Items{"line \x1e"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_mark_is_one_line_whatever_jid_and_class_are) {
  const std::string hostile = "\n\x1e\x1f\x1b[31m\xff" + std::string(100'000, '\n');
  const std::string mark = job_end_mark("token", hostile, hostile);
  BOOST_TEST(mark.size() < static_cast<std::size_t>(PIPE_BUF));
  const Items all = items_of(mark + "next\n");
  BOOST_REQUIRE(all.size() == 2u);
  BOOST_TEST(all[0].starts_with("end \\n\\x1e\\x1f\\x1b[31m\\xff\\n"));
  BOOST_TEST(all[1] == "line next");
}

BOOST_AUTO_TEST_CASE(no_byte_is_lost_or_made_up_whatever_they_are) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    for (std::size_t size = random() % 40'000; bytes.size() < size;)
      bytes += static_cast<char>(random() % 4000 == 0 ? '\n' : random() % 256 == '\n' ? 'x' : random() % 256);
    OutputLines lines("token");
    std::string again;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min<std::size_t>(random() % 9000, bytes.size() - at);
      lines.add(std::string_view(bytes).substr(at, size));
      at += size;
      while (const auto item = lines.next()) {
        BOOST_REQUIRE(item->text.size() <= OutputLines::longest_line);
        again += item->text;
        if (item->kind == Kind::line) again += '\n';
      }
    }
    if (lines.has_unfinished()) again += lines.take_unfinished(Kind::part).text;
    BOOST_REQUIRE(again == bytes);
  }
}

BOOST_AUTO_TEST_CASE(tokens_differ) { BOOST_TEST(random_token() != random_token()); }

BOOST_AUTO_TEST_CASE(a_burst_of_lines_is_admitted_and_then_a_thousand_a_second) {
  SteadyTime now{};
  TokenBucket allowance(now);
  const auto admitted = [&](std::size_t bytes) {
    int lines = 0;
    while (allowance.admit(bytes, now)) ++lines;
    return lines;
  };
  BOOST_TEST(admitted(10) == 5000);
  now += 1s;
  BOOST_TEST(admitted(10) == 1000);
  now += 500ms;
  BOOST_TEST(admitted(10) == 500);
  now += 1h;
  BOOST_TEST(admitted(10) == 5000);
}

BOOST_AUTO_TEST_CASE(long_lines_are_admitted_by_their_bytes) {
  SteadyTime now{};
  TokenBucket allowance(now);
  int lines = 0;
  while (allowance.admit(8192, now)) ++lines;
  BOOST_TEST(lines == 128);
  now += 1s;
  for (lines = 0; allowance.admit(8192, now);) ++lines;
  BOOST_TEST(lines == 32);
}
