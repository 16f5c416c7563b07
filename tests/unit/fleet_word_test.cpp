#include "shared/store/report/fleet_word.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

BOOST_AUTO_TEST_CASE(a_word_is_read_as_it_was_written) {
  for (const FleetWord& word : {FleetWord{"resume"}, FleetWord{"scale", {"12", "a \"b\" \xc2\x9b"}},
                                FleetWord{"kill", {"b4a577edbccf1d805744efa9", "dead"}}}) {
    const auto read = parse_fleet_word(text_of(word));
    BOOST_TEST_REQUIRE(read.has_value(), text_of(word));
    BOOST_TEST(read->verb == word.verb);
    BOOST_TEST(read->arguments == word.arguments);
  }
}

BOOST_AUTO_TEST_CASE(a_ticket_is_read_as_it_was_written) {
  const OrderTicket ticket{.id = "a-1", .by = "ann \"x\" @host", .until = 1795237318};
  for (const FleetWord& word : {FleetWord{"restart", {}, ticket}, FleetWord{"scale", {"12", "default"}, ticket}}) {
    const auto read = parse_fleet_word(text_of(word));
    BOOST_TEST_REQUIRE(read.has_value(), text_of(word));
    BOOST_TEST(read->arguments == word.arguments);
    BOOST_TEST_REQUIRE(read->ticket.has_value());
    BOOST_TEST(read->ticket->id == ticket.id);
    BOOST_TEST(read->ticket->by == ticket.by);
    BOOST_TEST(read->ticket->until == ticket.until);
  }
}

BOOST_AUTO_TEST_CASE(anything_else_in_the_list_of_signals_is_no_word) {
  const std::string nested(1'000, '[');
  for (const std::string& text : {std::string(),
                                  std::string("TSTP"),
                                  std::string("brood"),
                                  std::string("brood "),
                                  std::string("brood []"),
                                  std::string("brood {}"),
                                  std::string("brood [1]"),
                                  std::string("brood [\"\"]"),
                                  std::string("brood [\"stop\"]"),
                                  std::string("brood [\"upgrade\"]"),
                                  std::string("brood [\"restart\"]"),
                                  std::string("brood [\"resume\",\"x\"]"),
                                  std::string("brood [\"kill\",\"abc\"]"),
                                  std::string("brood [\"kill\",\"abc\",\"dead\",\"x\"]"),
                                  std::string("brood [\"scale\",1,\"default\"]"),
                                  std::string("brood [\"scale\",null,\"default\"]"),
                                  std::string(R"(brood ["restart",{}])"),
                                  std::string(R"(brood ["restart",{"id":"a","by":"b"}])"),
                                  std::string(R"(brood ["restart",{"id":"","by":"b","until":1}])"),
                                  std::string(R"(brood ["restart",{"id":"a b","by":"b","until":1}])"),
                                  std::string(R"(brood ["restart",{"id":"a","by":"b","until":1.5}])"),
                                  std::string(R"(brood ["restart",{"id":"a","by":"b","until":1},"x"])"),
                                  std::string(R"(brood [{"id":"a","by":"b","until":1}])"),
                                  std::string(R"(brood ["resume",{"id":"a","by":"b","until":1}])"),
                                  R"(brood ["restart",{"id":"a","by":")" + std::string(201, 'b') + R"(","until":1}])",
                                  R"(brood ["restart",{"id":")" + std::string(65, 'a') + R"(","by":"b","until":1}])",
                                  std::string("brood [\"resume\"] x"),
                                  std::string("brood [\"resume\""),
                                  "brood " + nested,
                                  "brood [\"kill\",\"" + std::string(3'000, 'a') + "\",\"dead\"]",
                                  std::string("brood [\"resume\"]\0", 18),
                                  std::string("\xff\xfe")}) {
    BOOST_TEST(!parse_fleet_word(text).has_value(), text.substr(0, 60));
  }
}
