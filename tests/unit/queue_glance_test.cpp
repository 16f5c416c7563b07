#include "shared/store/queues/queue_sizes.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/wire.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(each_queue_is_glanced_at_by_its_name) {
  const std::vector<Command> commands = ask_queue_glances({"low", "high"}, AskPaused::yes);
  BOOST_REQUIRE(commands.size() == 6u);
  BOOST_TEST(commands[3].args == (std::vector<std::string>{"LLEN", "queue:high"}), boost::test_tools::per_element());
  BOOST_TEST(commands[4].args == (std::vector<std::string>{"LINDEX", "queue:high", "-1"}),
             boost::test_tools::per_element());
  BOOST_TEST(commands[5].args == (std::vector<std::string>{"SISMEMBER", "paused", "high"}),
             boost::test_tools::per_element());
  BOOST_TEST(ask_queue_glances({"low", "high"}, AskPaused::no).size() == 4u);
}

BOOST_AUTO_TEST_CASE(an_empty_queue_is_told_from_a_key_that_is_no_list) {
  const auto replies = wire::replies({wire::number(2), wire::text("{}"), wire::number(1),  //
                                      wire::number(0), wire::nil(), wire::number(0),       //
                                      wire::wrong_type(), wire::wrong_type(), wire::wrong_type()});
  const auto glances = read_queue_glances(replies, AskPaused::yes);
  BOOST_REQUIRE(glances.size() == 3u);
  BOOST_TEST(glances[0].jobs.value() == 2);
  BOOST_TEST(glances[0].next_job.value() == "{}");
  BOOST_TEST(glances[0].paused);
  BOOST_TEST(glances[1].jobs.value() == 0);
  BOOST_TEST(!glances[1].next_job);
  BOOST_TEST(!glances[1].paused);
  BOOST_TEST(!glances[2].jobs);
  BOOST_TEST(!glances[2].next_job);
  BOOST_TEST(!glances[2].paused);
}

BOOST_AUTO_TEST_CASE(a_glance_that_does_not_ask_for_pauses_shows_none) {
  const auto replies = wire::replies({wire::number(1), wire::text("a"), wire::number(1), wire::text("b")});
  const auto glances = read_queue_glances(replies, AskPaused::no);
  BOOST_REQUIRE(glances.size() == 2u);
  BOOST_TEST(glances[1].next_job.value() == "b");
  BOOST_TEST(!glances[0].paused);
  BOOST_TEST(!glances[1].paused);
}
