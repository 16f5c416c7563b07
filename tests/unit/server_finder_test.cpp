#include "supervisor/redis/server_finder.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

namespace {

ServerSearch passed_on(const RedisAddress& address, const ServerSearch& search) {
  return read_search(address, search_text(search));
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_child_has_found_by_sentinels_is_read) {
  const RedisAddress address = RedisAddress::parse("sentinel://u:secret@a,b/mymaster?db=3");
  RedisAddress server = RedisAddress::parse("redis://redis-2.example:7");
  server.numeric_hosts = {"fe80::1%eth0"};
  const std::vector<Teller> sentinels{{{"a", 26379}, "10.0.0.1"}, {{"10.0.0.2", 5}, "10.0.0.2"}};

  const ServerSearch read = passed_on(address, {.found = FoundServer{server, sentinels}});

  BOOST_REQUIRE(read.found);
  BOOST_TEST(read.found->server.host == "redis-2.example");
  BOOST_TEST((place_of(read.found->server) == RedisSeed{"fe80::1%eth0", 7}));
  BOOST_TEST(!read.found->server.has_sentinels());
  BOOST_TEST(read.found->server.seeds.empty());
  BOOST_TEST(read.found->server.user == "u");
  BOOST_TEST(read.found->server.password == "secret");
  BOOST_TEST(read.found->server.db == 3);
  BOOST_TEST((read.found->tellers == sentinels));
}

BOOST_AUTO_TEST_CASE(the_numbers_of_a_host_are_read) {
  const RedisAddress address = RedisAddress::parse("redis://h:7");
  RedisAddress server = address;
  server.numeric_hosts = {"10.0.0.1", "::1"};

  const ServerSearch read = passed_on(address, {.found = FoundServer{server, {}}});

  BOOST_REQUIRE(read.found);
  BOOST_TEST(read.found->server.host == "h");
  BOOST_TEST(read.found->server.port == 7);
  BOOST_TEST((read.found->server.numeric_hosts == server.numeric_hosts));
}

BOOST_AUTO_TEST_CASE(why_nothing_was_found_is_read_as_one_line) {
  using Reason = ServerSearch::Reason;
  const RedisAddress address = RedisAddress::parse("sentinel://a/mymaster");
  for (const Reason reason : {Reason::away, Reason::refused, Reason::host_unknown}) {
    const ServerSearch read = passed_on(address, {.found = std::nullopt, .why = "no\nhost h", .reason = reason});
    BOOST_TEST(!read.found);
    BOOST_TEST(read.why == "no host h");
    BOOST_TEST((read.reason == reason));
  }
}

BOOST_AUTO_TEST_CASE(no_password_is_passed_on) {
  RedisAddress server = RedisAddress::parse("redis://u:secret@10.0.0.1:7");
  server.sentinel_password = "hidden";
  const std::string text = search_text({.found = FoundServer{server, {}}});
  BOOST_TEST(text.find("secret") == std::string::npos);
  BOOST_TEST(text.find("hidden") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_child_that_was_killed_or_says_nonsense_has_found_nobody) {
  const RedisAddress plain = RedisAddress::parse("redis://h"), sentinels = RedisAddress::parse("sentinel://a/m");
  for (const char* text : {"", "port 7\n", "port", "sentinel x\n", "nonsense\n\n\n"}) {
    BOOST_TEST(!read_search(plain, text).found, text);
    BOOST_TEST(!read_search(sentinels, text).found, text);
  }
  BOOST_TEST(read_search(plain, "").why == "no address is known for the host h");
  BOOST_TEST((read_search(plain, "").reason == ServerSearch::Reason::host_unknown));
  BOOST_TEST((read_search(sentinels, "").reason == ServerSearch::Reason::away));
}
