#include "worker/fetching/queue_choice.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>

#include "shared/scoreboard/scoreboard.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/fetching/filled_queues.hpp"

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

// The following fetch may connect even if the look could not.
BOOST_AUTO_TEST_CASE(until_the_pauses_are_known_no_queue_is_drawn) {
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

namespace {

// A worker of a capsule that takes all queues, with far more queues than one fetch asks for.
struct ManyQueues {
  RedisServer redis;
  Connection connection{redis.address()};
  Scoreboard board = Scoreboard::in_memory(1);
  FilledQueues filled{connection, board.slot(0)};
  Strings queues;

  ManyQueues() {
    for (int i = 0; i < 2'000; ++i) queues.push_back("q" + std::to_string(i));
  }
  void push(const std::string& queue) { redis.command({"LPUSH", "queue:" + queue, "{}"}); }
  long looks() {
    const std::string stats(redis.command({"INFO", "commandstats"}).view().text());
    const std::size_t at = stats.find("cmdstat_llen:calls=");
    return at == std::string::npos ? 0 : std::stol(stats.substr(at + 19)) / 2'000;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_look_at_many_queues_is_used_for_a_while, ManyQueues) {
  push("q7");
  push("q1999");
  BOOST_TEST(filled.among(queues) == (Strings{"q7", "q1999"}), boost::test_tools::per_element());
  const long looked = looks();
  // On a slow machine a look takes longer, and is valid for longer.
  BOOST_TEST(filled.among(queues) == (Strings{"q7", "q1999"}), boost::test_tools::per_element());
  BOOST_TEST(looks() == looked);
  filled.note_fetched({"q7", "q1999"}, "q1999");
  BOOST_TEST(filled.among(queues) == (Strings{"q1999"}), boost::test_tools::per_element());
  filled.note_fetched({"q1999"}, "");
  BOOST_TEST(filled.among(queues).empty());
  redis.command({"DEL", "queue:q7", "queue:q1999"});
  push("q8");
  BOOST_TEST(eventually([&] { return filled.among(queues) == (Strings{"q8"}); }));
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_was_woken_for_a_queue_fetches_there_without_a_look, ManyQueues) {
  note_rung_for(board.slot(0), "q42");
  BOOST_TEST(filled.among(queues) == (Strings{"q42"}), boost::test_tools::per_element());
  BOOST_TEST(looks() == 0);
  BOOST_TEST(filled.among(queues).empty());
  BOOST_TEST(looks() == 1);
  note_rung_for(board.slot(0), "another capsule's");
  BOOST_TEST(filled.among(queues).empty());
}

BOOST_FIXTURE_TEST_CASE(a_few_queues_are_not_asked_for, ManyQueues) {
  queues.resize(20);
  BOOST_TEST(filled.among(queues).size() == 20U);
  BOOST_TEST(looks() == 0);
}

BOOST_AUTO_TEST_CASE(patterns_are_asked_in_their_place_and_an_exclusion_holds_for_each) {
  RedisServer redis;
  Connection connection(redis.address());
  CapsuleSettings capsule;
  capsule.queues = QueueOrder({{"critical", 0}, {"mail*", 0}, {"!mail_bulk", 0}, {"low", 0}, {"*", 0}});
  redis.command({"SADD", "queues", "low", "mail_1", "mail_2", "mail_bulk", "x", "y"});
  QueueChoice choice(capsule, connection, nullptr);
  BOOST_TEST(choice.begin());
  BOOST_TEST(choice.may_grow());
  Strings drawn = choice.take(9);
  BOOST_TEST(choice.is_over());
  BOOST_REQUIRE(drawn.size() == 6U);
  std::sort(drawn.begin() + 1, drawn.begin() + 3);
  std::sort(drawn.begin() + 4, drawn.end());
  BOOST_TEST(drawn == (Strings{"critical", "mail_1", "mail_2", "low", "x", "y"}), boost::test_tools::per_element());
}
