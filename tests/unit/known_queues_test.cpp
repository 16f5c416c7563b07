#include "shared/store/queues/known_queues.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reply_from_wire.hpp"

using namespace brood;
using Names = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(a_star_stands_for_the_known_queues_that_are_not_listed) {
  const KnownQueues known{.names = {"a", "b", "c", "d"}, .paused = {}};
  BOOST_TEST(expand_queues({"*"}, known) == (Names{"a", "b", "c", "d"}), boost::test_tools::per_element());
  BOOST_TEST(expand_queues({"c", "*", "a"}, known) == (Names{"c", "b", "d", "a"}), boost::test_tools::per_element());
  BOOST_TEST(expand_queues({"x", "a"}, known) == (Names{"x", "a"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(paused_queues_are_left_out_of_every_order) {
  const KnownQueues known{.names = {"a", "b", "c"}, .paused = {"a", "b", "elsewhere"}};
  BOOST_TEST(expand_queues({"a", "*", "x"}, known) == (Names{"c", "x"}), boost::test_tools::per_element());
  BOOST_TEST(expand_queues({"a", "b"}, known).empty());
}

BOOST_AUTO_TEST_CASE(names_are_read_in_order_and_unsafe_ones_apart) {
  const Reply reply = reply_from_wire("*3\r\n$3\r\nlow\r\n$1\r\n*\r\n$4\r\nhigh\r\n");
  Names unsafe;
  const auto names = read_queue_names(reply.view(), &unsafe);
  BOOST_TEST_REQUIRE(names.has_value());
  BOOST_TEST(*names == (Names{"high", "low"}), boost::test_tools::per_element());
  BOOST_TEST(unsafe == Names{"*"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(where_redis_does_not_tell_of_queues_none_is_read) {
  for (const std::string& wire : {refused_on_wire, wrong_type_on_wire, nil_on_wire, std::string("+OK\r\n")}) {
    BOOST_TEST(!read_queue_names(reply_from_wire(wire).view()).has_value());
    BOOST_TEST(!read_paused(reply_from_wire(wire).view()).has_value());
  }
  const auto none = read_paused(reply_from_wire("*0\r\n").view());
  BOOST_TEST((none && none->empty()));
}

BOOST_AUTO_TEST_CASE(a_refused_count_of_queues_throws) {
  BOOST_TEST(read_queue_count(reply_from_wire(":3\r\n").view()) == 3);
  BOOST_CHECK_THROW(read_queue_count(reply_from_wire(wrong_type_on_wire).view()), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(a_star_fetches_from_every_queue_whose_name_is_safe) {
  BOOST_TEST(fetches_from(Names{"a", "b"}, "b"));
  BOOST_TEST(!fetches_from(Names{"a", "b"}, "c"));
  BOOST_TEST(fetches_from(Names{"a", "*"}, "c"));
  BOOST_TEST(!fetches_from(Names{"*"}, "un safe"));
  BOOST_TEST(!fetches_from(Names{"*"}, ""));
  BOOST_TEST(fetches_from(Names{"un safe"}, "un safe"));
  BOOST_TEST(fetches_from(Names{"a", "m*!mail"}, "m"));
  BOOST_TEST(!fetches_from(Names{"a", "m*!mail"}, "mail"));
}

BOOST_AUTO_TEST_CASE(each_pattern_is_replaced_by_the_queues_that_go_by_it) {
  const KnownQueues known{.names = {"a", "mail_1", "mail_2", "mail_bulk", "z"}, .paused = {"mail_2"}};
  BOOST_TEST(expand_queues({"z", "mail*!mail_bulk", "*!mail_bulk"}, known) == (Names{"z", "mail_1", "a"}),
             boost::test_tools::per_element());
  BOOST_TEST(expand_queues({"*", "mail*"}, known) == (Names{"a", "z", "mail_1", "mail_bulk"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(jobs_that_were_set_aside_are_excluded_with_their_queue) {
  const std::vector<CapSettings> caps{{.name = "erp", .queues = {}, .classes = {"Book"}}};
  const KnownQueues known{.names = {"a", "a@erp", "mail", "mail@erp"}, .paused = {}};
  BOOST_TEST(expand_queues({"*!mail"}, known, caps) == (Names{"a", "a@erp"}), boost::test_tools::per_element());
}
