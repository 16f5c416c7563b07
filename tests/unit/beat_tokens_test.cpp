#include "supervisor/report/beat_tokens.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using namespace brood;

namespace {

bool knows(const BeatTokens& tokens, std::uint64_t token) {
  return tokens.known().find(token_text(token)) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_new_list_knows_no_token) { BOOST_TEST(BeatTokens().known() == ""); }

BOOST_AUTO_TEST_CASE(what_was_added_is_known_one_after_the_other) {
  BeatTokens tokens;
  tokens.add(1);
  tokens.add(0xfedcba9876543210);
  BOOST_TEST(tokens.known() == "0000000000000001 fedcba9876543210");
}

BOOST_AUTO_TEST_CASE(the_tokens_of_another_shard_are_known_before_its_own) {
  BeatTokens left, added;
  left.add(1);
  left.add(2);
  added.add(left);
  added.add(3);
  BOOST_TEST(added.known() == token_text(1) + " " + token_text(2) + " " + token_text(3));
}

BOOST_AUTO_TEST_CASE(the_oldest_are_forgotten) {
  BeatTokens tokens;
  for (std::uint64_t token = 1; token <= BeatTokens::remembered + 1; ++token) tokens.add(token);
  BOOST_TEST(!knows(tokens, 1));
  BOOST_TEST(knows(tokens, 2));
  BOOST_TEST(knows(tokens, BeatTokens::remembered + 1));
}

BOOST_AUTO_TEST_CASE(the_next_program_knows_what_the_one_before_told) {
  BeatTokens before;
  before.add(1);
  before.add(2);
  BeatTokens after(before.told());
  after.add(3);
  BOOST_TEST(after.known() == "0000000000000001 0000000000000002 0000000000000003");
}

BOOST_AUTO_TEST_CASE(after_a_program_that_told_nothing_any_is_taken_until_a_beat_was_answered) {
  BeatTokens tokens("");
  BOOST_TEST(tokens.known() == "*");
  tokens.add(1);
  BOOST_TEST(tokens.known() == "*");  // the reply may have been lost
  tokens.beat_was_answered();
  BOOST_TEST(tokens.known() == "0000000000000001");
}

BOOST_AUTO_TEST_CASE(random_tokens_differ) {
  std::set<std::uint64_t> all;
  for (int i = 0; i < 1000; ++i) all.insert(new_beat_token());
  BOOST_TEST(all.size() == 1000U);
}

BOOST_AUTO_TEST_CASE(a_beat_is_its_own_whose_token_it_noted) {
  BOOST_TEST(may_be_its_beat(token_text(7), {9, 7}));
  BOOST_TEST(!may_be_its_beat(token_text(8), {9, 7}));
  BOOST_TEST(!may_be_its_beat(token_text(8), {}));
  BOOST_TEST(!may_be_its_beat("rubbish", {9, 7}));
}

BOOST_AUTO_TEST_CASE(a_beat_without_a_token_may_be_anybodys) {
  BOOST_TEST(may_be_its_beat("", {9, 7}));
  BOOST_TEST(may_be_its_beat("", {}));
}
