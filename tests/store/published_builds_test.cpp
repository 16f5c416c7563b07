#include "shared/store/report/published_builds.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/wire.hpp"

using namespace brood;

namespace {

const std::string documents = "brood:classes", seen = "brood:classes:seen";

struct Board {
  RedisServer redis;
  Connection connection{redis.address()};

  std::int64_t now() { return std::stoll(std::string(connection.call({"TIME"}).view()[0].text())); }
  bool publish(const std::string& build, const std::string& document) {
    return read_was_published(connection.run(publish_classes(build, document)).view());
  }
  std::vector<SeenBuild> builds() { return read_seen_builds(connection.call(ask_seen_builds()).view(), now()); }
  std::string refusal(const std::string& build) {
    return std::string(connection.run(publish_classes(build, "{}")).view().error());
  }
  // Records a build whose workers were there from `since` to `last`.
  void set(const std::string& build, std::int64_t since, std::int64_t last) {
    redis.command({"HSET", documents, build, "{}"});
    redis.command({"HSET", seen, build, std::to_string(since) + " " + std::to_string(last)});
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_document_is_sent_once_and_its_build_is_seen_from_then_on) {
  Board board;
  BOOST_TEST(!board.publish("a", ""));
  BOOST_TEST(board.builds().empty());
  BOOST_TEST(board.publish("a", R"({"classes":{}})"));
  BOOST_TEST(board.publish("a", ""));
  const std::vector<SeenBuild> builds = board.builds();
  BOOST_REQUIRE(builds.size() == 1u);
  BOOST_TEST((builds[0].build == "a" && builds[0].runs && builds[0].since <= builds[0].seen));
  const std::vector<std::string> texts = read_documents(board.connection.call(ask_documents({"a", "none"})).view());
  BOOST_TEST(texts == (std::vector<std::string>{R"({"classes":{}})", ""}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_build_that_runs_keeps_its_beginning_and_one_that_comes_back_begins_anew) {
  Board board;
  const std::int64_t now = board.now();
  board.set("runs", now - 1'000, now - 100);
  board.set("back", now - 5'000, now - 1'000);
  for (const char* build : {"runs", "back"}) BOOST_TEST(board.publish(build, ""));
  for (const SeenBuild& build : board.builds()) {
    BOOST_TEST(build.runs);
    BOOST_TEST((build.build == "runs" ? build.since == now - 1'000 : build.since >= now), build.build);
  }
  BOOST_TEST(board.builds().front().build == "back");  // the newest
}

BOOST_AUTO_TEST_CASE(of_builds_that_are_gone_the_last_four_are_kept_for_a_week) {
  Board board;
  const std::int64_t now = board.now();
  board.set("other", now - 50, now - 10);
  for (int i = 1; i <= 6; ++i) board.set("gone" + std::to_string(i), now - 9'000, now - 1'000 * i);
  board.set("old", now - 1'000'000, now - 700'000);
  board.redis.command({"HSET", documents, "unseen", "{}"});
  board.redis.command({"HSET", seen, "odd", "yesterday"});
  BOOST_TEST(board.publish("a", "{}"));
  std::vector<std::string> names;
  for (const SeenBuild& build : board.builds()) names.push_back(build.build);
  BOOST_TEST(names == (std::vector<std::string>{"a", "other", "gone1", "gone2", "gone3", "gone4"}),
             boost::test_tools::per_element());
  BOOST_TEST(board.redis.size_of(documents) == 6u);
  BOOST_TEST(board.redis.size_of(seen) == 6u);
}

BOOST_AUTO_TEST_CASE(keys_of_another_type_are_refused_and_read_as_nothing) {
  for (const std::string& key : {documents, seen}) {
    Board board;
    board.redis.command({"SET", key, "x"});
    BOOST_TEST(board.refusal("a").starts_with("WRONGTYPE"));
    BOOST_TEST(board.builds().empty());
  }
  Board board;
  board.redis.command({"SET", documents, "x"});
  BOOST_TEST(read_documents(board.connection.call(ask_documents({"a"})).view()).empty());
}

BOOST_AUTO_TEST_CASE(a_clock_that_was_set_back_forgets_no_build_that_runs) {
  Board board;
  board.set("ahead", board.now() + 5'000, board.now() + 5'000);
  BOOST_TEST(board.publish("ahead", ""));
  BOOST_TEST(board.builds().size() == 1u);
  BOOST_TEST(board.builds().front().since <= board.now());
}

BOOST_AUTO_TEST_CASE(a_build_that_was_seen_far_ahead_is_gone_and_none_began_later_than_it_was_seen) {
  Board board;
  const std::int64_t now = board.now();
  board.set("ahead", now + 5'000, now + 5'000);
  board.set("evil", 9'999'999'998, 9'999'999'999);
  board.set("late", now + 5'000, now);
  for (const SeenBuild& build : board.builds()) {
    BOOST_TEST(build.runs == (build.build == "late"), build.build);
    BOOST_TEST(build.since <= board.now(), build.build);
    BOOST_TEST(build.seen <= board.now(), build.build);
  }
  BOOST_TEST(board.publish("a", "{}"));
  std::vector<std::string> names;
  for (const SeenBuild& build : board.builds()) names.push_back(build.build);
  BOOST_TEST(names.size() == 3u);
  BOOST_TEST(names.back() == "ahead");  // it is forgotten after a week, and "evil" at once
}
