#include "shared/redis/find_server.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>

#include "shared/redis/connection.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/localhost.hpp"
#include "tests/support/sentinel_setup.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

FoundServer find(const std::string& url, std::chrono::milliseconds longest = 5s) {
  return find_server(RedisAddress::parse(url), steady_now() + longest);
}

std::uint16_t port_found(const std::string& url) { return find(url).server.port; }

std::string failure_of(Loss why, const RedisAddress& address, std::chrono::milliseconds longest = 5s) {
  try {
    find_server(address, steady_now() + longest);
  } catch (const ConnectionLost& lost) {
    return lost.why == why ? lost.what() : std::string("(another) ") + lost.what();
  } catch (const std::exception& other) {
    return std::string("(another) ") + other.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string seed(const Sentinel& sentinel) { return "127.0.0.1:" + std::to_string(sentinel.port()); }

}  // namespace

BOOST_AUTO_TEST_CASE(an_ordinary_address_is_used_as_it_is_without_a_question) {
  const FoundServer found = find("redis://u:p@192.0.2.1:7/3", 1ms);
  BOOST_TEST(found.server.host == "192.0.2.1");
  BOOST_TEST(found.server.port == 7);
  BOOST_TEST(found.tellers.empty());
}

BOOST_AUTO_TEST_CASE(the_master_is_found_and_followed) {
  SentinelSetup redis;
  const std::string url = redis.url("?db=2");
  const FoundServer found = find(url);
  BOOST_TEST(found.server.port == redis.server(0).address().port);
  BOOST_TEST(found.server.host == "127.0.0.1");
  BOOST_TEST(found.server.db == 2);
  BOOST_TEST(!found.server.has_sentinels());
  BOOST_TEST(eventually([&] { return find(url).tellers.size() >= 2U; }));  // a late sentinel is not waited for

  // Moved by Redis' own command.  For a while the sentinels still name the old master, which is a replica.
  redis.server(0).command({"FAILOVER"});
  RedisServer& second = redis.master(&redis.server(0));
  BOOST_TEST(eventually([&] { return !redis.is_master(redis.server(0)); }));
  BOOST_TEST(port_found(url) == second.address().port);

  Connection connection(RedisAddress::parse(url));
  BOOST_TEST(connection.call({"SET", "here", "1"}).view().text() == "OK");
  BOOST_TEST(second.command({"SELECT", "2"}).view().text() == "OK");
  BOOST_TEST(second.get("here").value_or("") == "1");
}

BOOST_AUTO_TEST_CASE(a_master_that_is_killed_or_stopped_is_left_for_the_one_that_is_voted_for) {
  SentinelSetup redis;
  Connection connection(RedisAddress::parse(redis.url()), {2s, 1s});
  BOOST_TEST(connection.call({"SET", "before", "1"}).view().text() == "OK");
  BOOST_TEST(eventually([&] { return redis.server(1).get("before") && redis.server(2).get("before"); }));

  redis.server(0).pause();
  const SteadyTime stopped = steady_now();
  BOOST_CHECK_THROW(connection.call({"SET", "lost", "1"}), ConnectionLost);
  RedisServer& second = redis.master(&redis.server(0));
  BOOST_TEST(eventually(
      [&] {
        try {
          return connection.call({"GET", "before"}).view().text() == "1";
        } catch (const ConnectionLost&) {
          return false;
        }
      },
      20s));
  BOOST_TEST((steady_now() - stopped < 60s));
  BOOST_TEST(port_found(redis.url()) == second.address().port);
  redis.server(0).resume();

  // The old master reports that it is a master until a sentinel demotes it, but it is outvoted.
  BOOST_TEST(port_found(redis.url()) == second.address().port);
}

BOOST_AUTO_TEST_CASE(a_sentinel_that_names_a_replica_or_the_dead_or_another_master_is_outvoted) {
  SentinelSetup redis;
  RedisServer other({.tcp = true});
  Sentinel misled({.masters = {{"mymaster", "127.0.0.1", other.address().port}}, .quorum = 1});
  Sentinel on_replica({.masters = {{"mymaster", "127.0.0.1", redis.server(1).address().port}}, .quorum = 1});
  const std::string honest = redis.url().substr(std::string("sentinel://").size());

  BOOST_TEST(port_found("sentinel://" + seed(misled) + "," + honest) == redis.server(0).address().port);
  BOOST_TEST(port_found("sentinel://" + seed(on_replica) + "," + honest) == redis.server(0).address().port);
  // A replica knows its master, so it is followed even if no other server is asked.
  BOOST_TEST(port_found("sentinel://" + seed(on_replica) + "/mymaster") == redis.server(0).address().port);

  other.kill9();
  BOOST_TEST(port_found("sentinel://" + seed(misled) + "," + honest) == redis.server(0).address().port);
  const std::string why =
      failure_of(Loss::unanswered, RedisAddress::parse("sentinel://" + seed(misled) + "/mymaster"), 3s);
  BOOST_TEST(contains(why, "no living master mymaster"), why);
}

BOOST_AUTO_TEST_CASE(sentinels_that_are_away_or_stopped_cost_little_time) {
  SentinelSetup redis;
  const std::string port = std::to_string(redis.server(0).address().port);
  redis.sentinel(0).kill9();
  redis.sentinel(1).pause();
  const SteadyTime begun = steady_now();
  BOOST_TEST(std::to_string(port_found(redis.url())) == port);
  BOOST_TEST((steady_now() - begun < 4s));

  // All of them are away: the last known master is tried, and is still the master.
  redis.sentinel(2).kill9();
  BOOST_TEST(std::to_string(port_found(redis.url())) == port);

  redis.server(0).kill9();
  const std::string why = failure_of(Loss::unanswered, RedisAddress::parse(redis.url()), 2s);
  BOOST_TEST(contains(why, "no sentinel answers"), why);
  BOOST_TEST((steady_now() - begun < 30s));
  redis.sentinel(1).resume();
}

BOOST_AUTO_TEST_CASE(one_seed_is_enough_to_learn_of_the_others) {
  SentinelSetup redis;
  const std::string url = "sentinel://" + seed(redis.sentinel(0)) + "/mymaster";
  BOOST_TEST(eventually([&] { return find(url).tellers.size() >= 2U; }));

  redis.sentinel(0).kill9();

  const FoundServer found = find(url);
  BOOST_TEST(found.server.port == redis.server(0).address().port);
  BOOST_TEST(found.tellers.size() >= 1U);
}

BOOST_AUTO_TEST_CASE(what_refuses_us_says_so_without_a_password) {
  SentinelSetup redis({.password = "of-the-server", .sentinel_password = "of-the-sentinels"});
  RedisAddress address = RedisAddress::parse(redis.url());
  BOOST_TEST(contains(failure_of(Loss::login_refused, address), "NOAUTH"));
  address.sentinel_password = "wrong";
  BOOST_TEST(contains(failure_of(Loss::login_refused, address), "WRONGPASS"));

  address.sentinel_password = "of-the-sentinels";
  BOOST_TEST(find_server(address, steady_now() + 5s).server.password == "of-the-server");
  Connection connection(address);
  BOOST_TEST(connection.call({"PING"}).view().text() == "PONG");

  address.password = "hunter2";
  const std::string why = failure_of(Loss::login_refused, address);
  BOOST_TEST(contains(why, "the master mymaster"), why);
  BOOST_TEST(contains(why, "WRONGPASS"), why);
  BOOST_TEST(!contains(why, "hunter2"), why);
  address.master = "nobody";
  BOOST_TEST(contains(failure_of(Loss::login_refused, address), "no master by the name nobody"));
}

BOOST_AUTO_TEST_CASE(an_ordinary_redis_is_no_sentinel) {
  RedisServer redis({.tcp = true});
  const std::string port = std::to_string(redis.address().port);
  const std::string why =
      failure_of(Loss::login_refused, RedisAddress::parse("sentinel://127.0.0.1:" + port + "/mymaster"));
  BOOST_TEST(contains(why, "it is no sentinel"), why);
}

BOOST_AUTO_TEST_CASE(a_search_ends_at_its_deadline) {
  RedisServer stopped({.tcp = true});
  const std::string port = std::to_string(stopped.address().port);
  stopped.pause();
  const SteadyTime begun = steady_now();
  const std::string why =
      failure_of(Loss::unanswered, RedisAddress::parse("sentinel://127.0.0.1:" + port + "/mymaster"), 500ms);
  BOOST_TEST((steady_now() - begun < 10s));
  BOOST_TEST(contains(why, "no answer within the deadline"), why);
  stopped.resume();
}

BOOST_AUTO_TEST_CASE(unknown_host_names_of_sentinels_are_listed_in_the_error) {
  const std::string why =
      failure_of(Loss::host_unknown, RedisAddress::parse("sentinel://no-such-host.invalid/mymaster"));
  BOOST_TEST(contains(why, "no-such-host.invalid"), why);
}

BOOST_AUTO_TEST_CASE(a_sentinel_may_be_given_by_name, *boost::unit_test::precondition(localhost_is_known)) {
  SentinelSetup redis;
  BOOST_TEST(port_found("sentinel://localhost:" + std::to_string(redis.sentinel(0).port()) + "/mymaster") ==
             redis.server(0).address().port);
}
