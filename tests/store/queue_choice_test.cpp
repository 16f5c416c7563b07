#include "worker/fetching/queue_choice.hpp"

#include <boost/test/unit_test.hpp>

#include <utility>

#include "tests/support/redis_server.hpp"

using namespace brood;
using Strings = std::vector<std::string>;

namespace {

struct LostOnce : Channel {
  explicit LostOnce(Channel& to) : to(to) {}
  Reply call(const Command& command) override {
    if (!std::exchange(was_lost, true)) throw ConnectionLost("lost");
    return to.call(command);
  }
  void disconnect() override { to.disconnect(); }

  Channel& to;
  bool was_lost = false;
};

}  // namespace

// The fetch that follows may connect where the look did not.
BOOST_AUTO_TEST_CASE(who_has_not_heard_of_pauses_yet_draws_nothing) {
  RedisServer redis;
  Connection connection(redis.address());
  CapsuleSettings capsule;
  capsule.queues = QueueOrder({{"a", 0}, {"b", 0}});
  redis.command({"SADD", "paused", "a"});
  LostOnce channel(connection);
  QueueChoice choice(capsule, channel, nullptr);
  BOOST_TEST(!choice.begin());
  BOOST_TEST(!choice.has_looked());
  BOOST_TEST(choice.is_over());
  BOOST_TEST(choice.take(9).empty());
  BOOST_TEST(choice.begin());
  BOOST_TEST(choice.take(9) == Strings{"b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(pauses_and_names_that_its_user_may_not_read_any_more_stay_as_they_were) {
  RedisServer redis;
  Connection connection(redis.address());
  CapsuleSettings capsule;
  capsule.queues = QueueOrder({{"a", 0}, {"b", 0}, {"*", 0}});
  capsule.follows_all_queues = true;
  redis.command({"SADD", "paused", "a"});
  redis.command({"SADD", "queues", "a", "b", "c"});
  std::atomic<std::uint32_t> changes{0};
  redis.command({"SADD", "brood:paused_classes", "Thumbnail"});
  QueueChoice choice(capsule, connection, &changes);
  choice.begin();
  BOOST_TEST(choice.take(9) == (Strings{"b", "c"}), boost::test_tools::per_element());

  BOOST_REQUIRE(redis.command({"ACL", "SETUSER", redis.user(), "resetkeys", "~queue:*"}).view().error().empty());
  ++changes;
  choice.begin();
  BOOST_TEST(!choice.is_stale());
  BOOST_TEST(choice.paused_classes()->count("Thumbnail") == 1u);
  BOOST_TEST(choice.take(9) == (Strings{"b", "c"}), boost::test_tools::per_element());

  redis.command({"ACL", "SETUSER", redis.user(), "allkeys"});
  redis.command({"DEL", "paused", "brood:paused_classes"});
  ++changes;
  BOOST_TEST(choice.paused_classes()->empty());
  choice.begin();
  BOOST_TEST(choice.take(9) == (Strings{"a", "b", "c"}), boost::test_tools::per_element());

  redis.command({"SET", "paused", "of another type"});
  ++changes;
  choice.begin();
  BOOST_TEST(choice.take(9) == (Strings{"a", "b", "c"}), boost::test_tools::per_element());
}
