#include "shared/redis/reply.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reply_from_wire.hpp"

using namespace brood;

BOOST_TEST_DONT_PRINT_LOG_VALUE(ErrorKind)

namespace {

Reply read(const std::string& wire) { return reply_from_wire(wire); }

}  // namespace

BOOST_AUTO_TEST_CASE(each_kind_of_reply_is_told_apart) {
  BOOST_TEST(read("+OK\r\n").view().is_string());
  BOOST_TEST(read("$2\r\nhi\r\n").view().is_string());
  BOOST_TEST(read(":5\r\n").view().is_integer());
  BOOST_TEST(read("$-1\r\n").view().is_nil());
  BOOST_TEST(read("*-1\r\n").view().is_nil());
  BOOST_TEST(read("*0\r\n").view().is_array());
  BOOST_TEST(read("-ERR no\r\n").view().is_error());
  BOOST_TEST(!read("-ERR no\r\n").view().is_string());
}

BOOST_AUTO_TEST_CASE(a_string_may_hold_any_byte) {
  BOOST_TEST(read(std::string("$5\r\na\0\r\nb\r\n", 11)).view().text() == std::string_view("a\0\r\nb", 5));
}

BOOST_AUTO_TEST_CASE(an_integer_may_come_as_a_string) {
  BOOST_TEST(read(":-7\r\n").view().integer() == -7);
  BOOST_TEST(read("$3\r\n123\r\n").view().integer() == 123);
  for (const char* wire : {"$0\r\n\r\n", "$2\r\n1x\r\n", "$2\r\n 1\r\n", "$20\r\n99999999999999999999\r\n", "$-1\r\n"})
    BOOST_CHECK_THROW(read(wire).view().integer(), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(elements_are_reached_by_position) {
  const Reply reply = read("*2\r\n$1\r\na\r\n*1\r\n:3\r\n");

  BOOST_TEST(reply.view().size() == 2U);
  BOOST_TEST(reply.view()[0].text() == "a");
  BOOST_TEST(reply.view()[1][0].integer() == 3);
  BOOST_CHECK_THROW(reply.view()[2], UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(a_reply_of_another_kind_throws_and_says_what_came) {
  const Reply array = read("*0\r\n");
  BOOST_CHECK_EXCEPTION(array.view().text(), UnexpectedReply, [](const UnexpectedReply& e) {
    return std::string(e.what()) == "Redis answered an array where a string was expected";
  });
  const Reply error = read("-WRONGTYPE Operation against a key\r\n");
  BOOST_CHECK_EXCEPTION(error.view().size(), UnexpectedReply, [](const UnexpectedReply& e) {
    return std::string(e.what()) == "WRONGTYPE Operation against a key";
  });
}

BOOST_AUTO_TEST_CASE(an_empty_reply_is_of_no_kind) {
  const Reply none;
  BOOST_TEST(!none);
  BOOST_TEST(!none.view().is_nil());
  BOOST_TEST(none.view().error() == "");
  BOOST_CHECK_THROW(none.view().text(), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(an_error_says_whether_to_send_again) {
  BOOST_CHECK(classify_error("") == ErrorKind::none);
  for (const char* error :
       {"BUSY Redis is busy running a script.", "MISCONF Errors writing to the AOF file: No space left on device",
        "NOREPLICAS Not enough good replicas to write.", "ASK 3999 127.0.0.1:6381",
        "OOM command not allowed when used memory > 'maxmemory'.", "TRYAGAIN Multiple keys request during rehashing"})
    BOOST_TEST(bool(classify_error(error) == ErrorKind::not_applied_retry), error);
  for (const char* error :
       {"READONLY You can't write against a read only replica.", "CLUSTERDOWN The cluster is down",
        "MOVED 3999 127.0.0.1:6381", "MASTERDOWN Link with MASTER is down",
        "LOADING Redis is loading the dataset in memory",
        "UNBLOCKED force unblock from blocking operation, instance state changed", "ERR max number of clients reached",
        "ERR max number of clients + cluster connections reached"})
    BOOST_TEST(bool(classify_error(error) == ErrorKind::not_applied_reconnect), error);
  for (const char* error : {"NOAUTH Authentication required.", "WRONGPASS invalid username-password pair",
                            "NOPERM this user has no permissions", "DENIED Redis is running in protected mode"})
    BOOST_TEST(bool(classify_error(error) == ErrorKind::unauthorized), error);
  BOOST_CHECK(classify_error("NOSCRIPT No matching script. Please use EVAL.") == ErrorKind::no_script);
}

BOOST_AUTO_TEST_CASE(only_the_whole_first_word_counts) {
  for (const char* error :
       {"WRONGTYPE Operation against a key", "ERR unknown command", "BUSYKEY Target key name already exists.",
        "BUSYGROUP Consumer Group name already exists", "ERR a LOADING dock", "OOMPH"})
    BOOST_TEST(bool(classify_error(error) == ErrorKind::other), error);
}

BOOST_AUTO_TEST_CASE(a_right_that_a_script_lacks_is_known_in_the_words_of_each_release) {
  for (const char* error :
       {"ERR Error running script (call to f_0123): @user_script:1: @user_script: 1: -NOPERM The user executing the "
        "script can't run this command or subcommand",
        "@user_script: 1: -NOPERM The user executing the script can't run this command or subcommand",
        "ERR The user executing the script can't run this command or subcommand",
        "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments "
        "script: e6c7ae52, on @user_script:1.",
        "ERR ACL failure in script: User u has no permissions to run the 'del' command",
        "ERR ACL failure in script: No permissions to access a key script: 7afa86ff, on @user_script:1."})
    BOOST_TEST(bool(classify_error(error) == ErrorKind::unauthorized), error);
}

BOOST_AUTO_TEST_CASE(an_error_inside_a_script_counts_as_redis_6_wraps_it) {
  BOOST_CHECK(classify_error("ERR Error running script (call to f_0123): @user_script:1: -OOM command not allowed when "
                             "used memory > 'maxmemory'.") == ErrorKind::not_applied_retry);
  BOOST_CHECK(
      classify_error("ERR Error running script (call to f_0123): @user_script:5: @user_script: 5: -READONLY You "
                     "can't write against a read only replica.") == ErrorKind::not_applied_reconnect);
  BOOST_CHECK(
      classify_error("ERR Error running script (call to f_0123): @user_script:1: attempt to index a nil value") ==
      ErrorKind::other);
}
