#include "shared/store/keys.hpp"
#include "shared/store/worker_field.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

namespace {

void comes_apart_as_it_was_made(const std::string& identity, const std::string& field, const std::string& queue) {
  const auto parts = keys::parse_in_flight_list(keys::in_flight_list(identity, field, queue).name());
  BOOST_TEST_REQUIRE(parts.has_value());
  BOOST_TEST(parts->identity == identity);
  BOOST_TEST(parts->field == field);
  BOOST_TEST(parts->queue == queue);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_in_flight_list_names_identity_field_and_queue) {
  comes_apart_as_it_was_made("web-1.example:4711:0123456789ab", worker_field(2, 17), "images");
}

BOOST_AUTO_TEST_CASE(host_and_queue_may_hold_colons) {
  comes_apart_as_it_was_made("fe80::1:4711:0123456789ab", "0.1", "a:b");
  comes_apart_as_it_was_made("host:1:4711:0123456789ab", "0.1", "");
  comes_apart_as_it_was_made("host:4711:0123456789ab", "0.1", "x:4712:ba9876543210:3.4:y");
  comes_apart_as_it_was_made("host:4711:0123456789ab", "0.18446744073709551615", "1.2:3");
}

BOOST_AUTO_TEST_CASE(other_keys_are_no_in_flight_lists) {
  for (const char* key : {"", "brood:inflight:", "brood:inflight:host:1:0123456789ab",
                          "brood:inflight:host:1:0123456789ab:", "brood:inflight:host:1:0123456789ab:2.1",
                          "brood:inflight:host:1:0123456789ab:2:a", "brood:inflight:host:1:0123456789abc:2.1:a",
                          "brood:inflight:host:1:0123456789aB:2.1:a", "brood:inflight:host::0123456789ab:2.1:a",
                          "queue:host:1:0123456789ab:2.1:a"}) {
    BOOST_TEST(!keys::parse_in_flight_list(key), key);
  }
}

BOOST_AUTO_TEST_CASE(a_workers_field_comes_apart_and_nothing_else_does) {
  const auto field = parse_worker_field(worker_field(2, 18446744073709551615U));
  BOOST_TEST_REQUIRE(field.has_value());
  BOOST_TEST(field->slot == 2);
  BOOST_TEST(field->incarnation == 18446744073709551615U);
  for (const char* other : {"", "2", "2.", ".1", "2.x", "2.1 ", "x.1", "2.18446744073709551616"})
    BOOST_TEST(!parse_worker_field(other), other);
}
