#include "shared/store/report/heartbeat_hash.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reply_from_wire.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(a_heartbeat_is_missing_only_where_redis_says_so) {
  BOOST_CHECK(read_whether_beats(reply_from_wire(":1\r\n").view()) == true);
  BOOST_CHECK(read_whether_beats(reply_from_wire(":0\r\n").view()) == false);
  BOOST_CHECK(read_whether_beats(reply_from_wire(refused_on_wire).view()) == std::nullopt);
}

BOOST_AUTO_TEST_CASE(a_heartbeat_without_a_token_or_of_another_type_has_none) {
  BOOST_TEST(read_beat_token(reply_from_wire("$3\r\nabc\r\n").view()) == "abc");
  for (const std::string& wire : {nil_on_wire, refused_on_wire, wrong_type_on_wire})
    BOOST_TEST(read_beat_token(reply_from_wire(wire).view()).empty());
}

BOOST_AUTO_TEST_CASE(a_heartbeat_has_ended_where_there_is_no_info_and_not_where_it_is_refused) {
  BOOST_CHECK(read_info(reply_from_wire("$2\r\n{}\r\n").view()) == "{}");
  for (const std::string& wire : {nil_on_wire, refused_on_wire})
    BOOST_TEST(!read_info(reply_from_wire(wire).view()).has_value());
  BOOST_TEST(heartbeat_has_ended(reply_from_wire(nil_on_wire).view()));
  BOOST_TEST(!heartbeat_has_ended(reply_from_wire(refused_on_wire).view()));
  BOOST_TEST(!heartbeat_has_ended(reply_from_wire("$2\r\n{}\r\n").view()));
}

BOOST_AUTO_TEST_CASE(a_process_is_quiet_when_it_says_true) {
  const auto read = [](const std::string& wire) { return read_info_and_quiet(reply_from_wire(wire).view()); };
  const auto quiet = read("*2\r\n$2\r\n{}\r\n$4\r\ntrue\r\n");
  BOOST_TEST_REQUIRE(quiet.has_value());
  BOOST_TEST(quiet->info == "{}");
  BOOST_TEST(quiet->quiet);
  BOOST_TEST(!read("*2\r\n$2\r\n{}\r\n$5\r\nfalse\r\n")->quiet);
  BOOST_TEST(!read("*2\r\n$2\r\n{}\r\n$-1\r\n")->quiet);  // Sidekiq 6.0 has no such member
  BOOST_TEST(!read("*2\r\n$-1\r\n$4\r\ntrue\r\n").has_value());
  BOOST_TEST(!read(wrong_type_on_wire).has_value());
}
