#include "shared/store/queues/push_commands.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/redis/size_refusals.hpp"

using namespace brood;
using Words = std::vector<std::string>;

namespace {

std::vector<Words> words_of(std::vector<Command> commands) {
  std::vector<Words> all;
  for (Command& command : commands) all.push_back(std::move(command.args));
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(queues_are_registered_first_and_the_schedule_comes_last) {
  PushCommands pushes(0);
  pushes.add("low", "a");
  pushes.add_scheduled("12.5", "b");
  pushes.add("high", "c");
  pushes.add("low", "d");
  const auto words = words_of(pushes.take());
  BOOST_REQUIRE(words.size() == 4u);
  BOOST_TEST(words[0] == (Words{"SADD", "queues", "low", "high"}), boost::test_tools::per_element());
  BOOST_TEST(words[1] == (Words{"LPUSH", "queue:high", "c"}), boost::test_tools::per_element());
  BOOST_TEST(words[2] == (Words{"LPUSH", "queue:low", "a", "d"}), boost::test_tools::per_element());
  BOOST_TEST(words[3] == (Words{"ZADD", "schedule", "12.5", "b"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_schedule_registers_no_queue) {
  PushCommands pushes(0);
  pushes.add_scheduled("1", "a");
  const auto words = words_of(pushes.take());
  BOOST_REQUIRE(words.size() == 1u);
  BOOST_TEST(words[0][0] == "ZADD");
  BOOST_TEST(PushCommands(0).take().empty());
}

BOOST_AUTO_TEST_CASE(a_batch_holds_as_many_as_the_caller_says_or_as_sidekiqs) {
  PushCommands pushes(2);
  for (int i = 0; i < 5; ++i) pushes.add("q", "job");
  BOOST_TEST(pushes.take().size() == 1u + 3u);

  PushCommands usual(0);
  for (std::size_t i = 0; i <= usual_push_batch; ++i) usual.add("q", "job");
  for (std::size_t i = 0; i <= usual_scheduled_batch; ++i) usual.add_scheduled("1", "job");
  BOOST_TEST(usual.take().size() == 1u + 2u + 2u);
}

BOOST_AUTO_TEST_CASE(a_command_is_never_larger_than_redis_takes_unless_one_job_is) {
  PushCommands pushes(0);
  pushes.add("q", "small");
  pushes.add("q", std::string(bytes_always_taken + 1, 'x'));
  pushes.add("q", "small");
  const auto words = words_of(pushes.take());
  BOOST_REQUIRE(words.size() == 4u);
  for (std::size_t i = 1; i < words.size(); ++i) BOOST_TEST(words[i].size() == 3u);
}
