#include "shared/store/report/owners.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/identity_record.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/scan.hpp"
#include "tests/support/reply_from_wire.hpp"

using namespace brood;
using Names = std::vector<std::string>;

namespace {

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

}  // namespace

BOOST_AUTO_TEST_CASE(names_are_read_in_the_order_of_the_answer) {
  const Reply reply = reply_from_wire("*2\r\n" + bulk("b:1:x") + bulk("a:1:x"));
  BOOST_TEST(read_name_list(reply.view()) == (Names{"b:1:x", "a:1:x"}), boost::test_tools::per_element());
  BOOST_TEST(read_name_list_if_told(reply.view())->size() == 2U);
}

BOOST_AUTO_TEST_CASE(who_may_not_be_told_names_is_told_so) {
  for (const std::string& wire : {refused_on_wire, wrong_type_on_wire, nil_on_wire}) {
    const Reply reply = reply_from_wire(wire);
    BOOST_CHECK_THROW(read_name_list(reply.view()), UnexpectedReply);
    BOOST_TEST(!read_name_list_if_told(reply.view()).has_value());
  }
}

BOOST_AUTO_TEST_CASE(an_owner_whose_record_cannot_be_read_keeps_its_name) {
  Identity identity;
  identity.name = "web:7:0123456789ab";
  identity.hostname = "web";
  identity.pid = 7;
  const auto records = read_owner_records(
      reply_from_wire("*4\r\n" + bulk(identity.name) + bulk(identity_record(identity)) + bulk("odd") + bulk("no json"))
          .view());
  BOOST_TEST_REQUIRE(records.size() == 2U);
  BOOST_TEST_REQUIRE(records[0].identity.has_value());
  BOOST_TEST(records[0].identity->pid == 7);
  BOOST_TEST(records[1].name == "odd");
  BOOST_TEST(!records[1].identity.has_value());
  BOOST_CHECK_THROW(read_owner_records(reply_from_wire(wrong_type_on_wire).view()), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(the_process_that_sets_the_key_may_prune) {
  BOOST_TEST(read_may_prune(reply_from_wire("+OK\r\n").view()));
  for (const std::string& wire : {nil_on_wire, refused_on_wire})
    BOOST_TEST(!read_may_prune(reply_from_wire(wire).view()));
}
