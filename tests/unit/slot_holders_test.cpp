#include "shared/store/limits/take_limits.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reply_from_wire.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(whether_a_slot_is_held_is_known_where_its_holder_is_written_down) {
  const std::string own = "host:1:0123456789ab", other = "host:2:0123456789ab";
  const std::set<std::string> shards{"a", "b"};
  BOOST_CHECK(witness_of({own, "0.1", 1, ""}, own, shards) == Witness::its_field);
  BOOST_CHECK(witness_of({other, "0.1", 1, ""}, own, shards) == Witness::its_field);
  BOOST_CHECK(witness_of({own, "0.1", 1, "b"}, own, shards) == Witness::its_shard);
  BOOST_CHECK(witness_of({other, "0.1", 1, "b"}, own, shards) == Witness::its_shard);
  BOOST_CHECK(witness_of({own, "0.1", 1, "removed"}, own, shards) == Witness::ourselves);
  BOOST_CHECK(witness_of({other, "0.1", 1, "removed"}, own, shards) == Witness::its_supervisor);
}

BOOST_AUTO_TEST_CASE(holders_of_slots_are_read_as_they_are_written) {
  const LimitHolder here{"host:1:0123456789ab", "0.1", 7}, there{"host:1:0123456789ab", "0.2", 8, "b", 3};
  std::string wire = "*8\r\n";
  for (const std::string& text : {here.member(), here.score(), there.member(), there.score(), std::string("nobody"),
                                  std::string("1"), here.member(), std::string("no number")})
    wire += "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  const Reply reply = reply_from_wire(wire);
  const std::vector<LimitHolder> holders = read_slots(reply.view());
  BOOST_REQUIRE(holders.size() == 2U);
  BOOST_TEST(holders[0].member() == here.member());
  BOOST_TEST(holders[0].score() == here.score());
  BOOST_TEST(holders[1].member() == there.member());
  BOOST_TEST(holders[1].score() == there.score());
  BOOST_TEST(holders[1].elsewhere == "b");
  BOOST_TEST(read_slots(reply_from_wire("-NOPERM\r\n").view()).empty());
}

BOOST_AUTO_TEST_CASE(a_holders_number_is_read_however_redis_spells_it) {
  const auto read = [](const std::string& score) { return read_limit_holder("host:1:0123456789ab/0.1", score); };
  const LimitHolder taken_again{"host:1:0123456789ab", "0.1", 1'000'000, "", 1};
  for (const std::string score : {"1000000.0009765625", "1.0000000009765625e+6", "1.0000000009765625e6"}) {
    const auto holder = read(score);
    BOOST_REQUIRE_MESSAGE(holder.has_value(), score);
    BOOST_TEST(holder->number == taken_again.number, score);
    BOOST_TEST(holder->taking == taken_again.taking, score);
    BOOST_TEST(holder->score() == taken_again.score(), score);
  }
  BOOST_TEST(read("17")->number == 17U);
  BOOST_TEST(read("17")->taking == 0U);
  for (const std::string wrong : {"", "-1", "inf", "nan", "1e300", "17 more", "seventeen"})
    BOOST_TEST(!read(wrong).has_value(), wrong);
}
