#include "shared/store/sets/job_sets.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/scan.hpp"
#include "tests/support/wire.hpp"

using namespace brood;
using Words = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(a_page_is_of_the_lowest_scores_or_of_the_highest) {
  BOOST_TEST(ask_entries_at(retry_set, "0", "24", false).args == (Words{"ZRANGE", "retry", "0", "24", "WITHSCORES"}),
             boost::test_tools::per_element());
  BOOST_TEST(ask_entries_at(dead_set, "0", "24", true).args == (Words{"ZREVRANGE", "dead", "0", "24", "WITHSCORES"}),
             boost::test_tools::per_element());
  BOOST_TEST(ask_highest_members(scheduled_set, 200).args == (Words{"ZREVRANGE", "schedule", "0", "199"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_entry_is_a_member_and_its_score) {
  const Reply reply = wire::reply(wire::list({wire::text("a"), wire::text("1.5"), wire::text("b"), wire::text("inf")}));
  const auto entries = read_entries_as_read(reply.view());
  BOOST_REQUIRE(entries.size() == 2u);
  BOOST_TEST(entries[1].member == "b");
  BOOST_TEST(entries[1].score_text == "inf");
  BOOST_CHECK_THROW(read_entries_as_read(wire::reply(wire::wrong_type()).view()), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(a_scan_tells_members_and_where_it_goes_on) {
  const Reply reply = wire::reply(
      wire::list({wire::text("17"), wire::list({wire::text("a"), wire::text("1"), wire::text("b"), wire::text("2")})}));
  const SetScan scan = read_set_scan(reply.view());
  BOOST_TEST(scan.next == "17");
  BOOST_REQUIRE(scan.members.size() == 2u);
  BOOST_TEST(scan.members[1] == "b");
  const Reply last = wire::reply(wire::list({wire::text("0"), wire::list({})}));
  BOOST_TEST(read_set_scan(last.view()).next == scan_begins);
  BOOST_TEST(read_set_scan(last.view()).members.empty());
}

BOOST_AUTO_TEST_CASE(a_member_that_has_gone_since_has_no_score) {
  const std::vector<std::string_view> members{"a", "b", "c"};
  BOOST_TEST(ask_scores(retry_set, members).args == (Words{"ZMSCORE", "retry", "a", "b", "c"}),
             boost::test_tools::per_element());
  const Reply reply = wire::reply(wire::list({wire::text("1"), wire::nil(), wire::text("3")}));
  const auto entries = read_scores(members, reply.view());
  BOOST_REQUIRE(entries.size() == 2u);
  BOOST_TEST(entries[1].member == "c");
  BOOST_TEST(entries[1].score_text == "3");
}

BOOST_AUTO_TEST_CASE(a_key_that_is_no_set_has_no_members_to_offer) {
  const Reply some = wire::reply(wire::list({wire::text("a")}));
  BOOST_TEST(read_members(some.view()).size() == 1u);
  BOOST_TEST(read_members(wire::reply(wire::wrong_type()).view()).empty());
}
