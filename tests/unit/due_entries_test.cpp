#include "shared/store/sets/due_entries.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/sets/scheduler_lock.hpp"
#include "tests/support/reply_from_wire.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string two_entries = "*4\r\n$1\r\na\r\n$3\r\n1.5\r\n$1\r\nb\r\n$1\r\n2\r\n";

SchedulerLock holder(const std::string& wire) { return read_scheduler_lock(reply_from_wire(wire).view(), "here:1:a"); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_time_is_a_score_to_the_microsecond) {
  BOOST_TEST(due_score(WallTime(1'795'237'318s + 5us + 900ns)) == "1795237318.000005");
  BOOST_TEST(due_score(WallTime{}) == "0.000000");
}

BOOST_AUTO_TEST_CASE(the_first_score_is_read_as_text_and_of_nothing_there_is_none) {
  BOOST_CHECK(read_first_score(reply_from_wire("$3\r\n1.5\r\n").view()) == "1.5");
  BOOST_CHECK(!read_first_score(reply_from_wire(nil_on_wire).view()));
  BOOST_CHECK_THROW(read_first_score(reply_from_wire(wrong_type_on_wire).view()), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(due_entries_are_members_with_their_scores) {
  const DueEntries entries(reply_from_wire(two_entries));
  BOOST_TEST_REQUIRE(entries.size() == 2U);
  BOOST_TEST(entries[0].member == "a");
  BOOST_TEST(entries[0].score_text == "1.5");
  BOOST_TEST(entries[1].member == "b");
  BOOST_TEST(entries[1].score_text == "2");
  BOOST_TEST(DueEntries().size() == 0U);
  BOOST_CHECK_THROW(DueEntries(reply_from_wire(wrong_type_on_wire)), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(a_lock_that_redis_refuses_has_no_holder) {
  BOOST_CHECK(holder("$8\r\nhere:1:a\r\n") == SchedulerLock::ours);
  BOOST_CHECK(holder("$9\r\nthere:1:b\r\n") == SchedulerLock::of_another);
  for (const std::string& wire : {nil_on_wire, refused_on_wire, wrong_type_on_wire})
    BOOST_CHECK(holder(wire) == SchedulerLock::none);
}
