#include "shared/config/queue_order.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/support/vectors.hpp"

using brood::is_safe_name;
using brood::QueueOrder;
using Mode = QueueOrder::Mode;
using Names = std::vector<std::string>;

namespace {

QueueOrder order_of(const Names& texts) {
  std::vector<QueueOrder::Entry> entries;
  for (const std::string& text : texts) entries.push_back(QueueOrder::parse(text));
  return QueueOrder(entries);
}

const char* mode_name(Mode mode) {
  return mode == Mode::strict ? "strict" : mode == Mode::random ? "random" : "weighted";
}

QueueOrder order_of(const brood::test::VectorValue& queues) {
  std::vector<QueueOrder::Entry> entries;
  for (const auto& queue : queues.elements) {
    if (queue.kind == brood::test::VectorValue::Kind::string)
      entries.push_back(QueueOrder::parse(queue.text));
    else
      entries.push_back({queue.elements.at(0).text, static_cast<int>(queue.elements.at(1).number())});
  }
  return QueueOrder(entries);
}

}  // namespace

BOOST_AUTO_TEST_CASE(mode_weights_and_expansion_are_those_of_the_vectors) {
  for (const auto& vector : brood::test::vectors("queues-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      const QueueOrder order = order_of(vector.input["queues"]);

      BOOST_TEST(mode_name(order.mode()) == vector.expect["mode"].text);
      Names expanded;
      for (const auto& name : vector.expect["expanded"].elements) expanded.push_back(name.text);
      BOOST_TEST(order.expanded() == expanded, boost::test_tools::per_element());
      std::map<std::string, int> weights;
      for (const auto& [name, weight] : vector.expect["weights"].members)
        weights[name] = static_cast<int>(weight.number());
      BOOST_CHECK(order.weights() == weights);
    }
  }
}

BOOST_AUTO_TEST_CASE(without_anything_said_there_is_the_default_queue) {
  BOOST_TEST(QueueOrder().names() == Names{"default"}, boost::test_tools::per_element());
  BOOST_CHECK(QueueOrder().mode() == Mode::strict);
}

BOOST_AUTO_TEST_CASE(strict_order_asks_each_queue_once_as_listed) {
  std::mt19937_64 random(1);
  const QueueOrder order = order_of(Names{"b", "a", "b", "c"});

  for (int i = 0; i < 10; ++i) BOOST_TEST((order.draw(random) == Names{"b", "a", "c"}));
}

BOOST_AUTO_TEST_CASE(random_order_asks_all_queues_and_each_first_as_often) {
  std::mt19937_64 random(2);
  const QueueOrder order = order_of(Names{"a,1", "b,1", "c,1"});

  std::map<std::string, int> first;
  for (int i = 0; i < 6000; ++i) {
    const Names drawn = order.draw(random);
    BOOST_REQUIRE_EQUAL(std::set<std::string>(drawn.begin(), drawn.end()).size(), 3U);
    BOOST_REQUIRE_EQUAL(drawn.size(), 3U);
    ++first[drawn.front()];
  }
  for (const char* name : {"a", "b", "c"}) BOOST_TEST(std::abs(first[name] - 2000) < 200);
}

BOOST_AUTO_TEST_CASE(weights_3_2_1_are_asked_first_in_3_2_1_of_6_fetches) {
  std::mt19937_64 random(3);
  const QueueOrder order = order_of(Names{"high,3", "default,2", "low,1"});

  std::map<std::string, int> first;
  for (int i = 0; i < 12000; ++i) {
    const Names drawn = order.draw(random);
    BOOST_REQUIRE_EQUAL(drawn.size(), 3U);
    ++first[drawn.front()];
  }
  BOOST_TEST(std::abs(first["high"] - 6000) < 300);
  BOOST_TEST(std::abs(first["default"] - 4000) < 300);
  BOOST_TEST(std::abs(first["low"] - 2000) < 300);
}

BOOST_AUTO_TEST_CASE(a_weight_of_zero_is_as_none) { BOOST_CHECK(order_of(Names{"a,0", "b"}).mode() == Mode::strict); }

BOOST_AUTO_TEST_CASE(the_star_is_an_entry_like_any_other) {
  BOOST_TEST(QueueOrder::parse("*").name == "*");
  BOOST_TEST(QueueOrder::parse("*,2").weight == 2);
}

BOOST_AUTO_TEST_CASE(names_and_weights_that_cannot_be_are_refused_by_name) {
  for (const char* text : {"", ",1", "a b", "a\n", "<b>", "a,", "a,x", "a,1x", "a,-1", "a,1001", "a,99999999999", "**",
                           "a,1,2", "\xc3\xa9", "a, 1"}) {
    BOOST_TEST_CONTEXT(text) { BOOST_CHECK_THROW(QueueOrder::parse(text), std::invalid_argument); }
  }
}

BOOST_AUTO_TEST_CASE(safe_names_carry_no_html_and_fit_255_bytes) {
  BOOST_TEST(is_safe_name("Images::Resize_1.2@host/x-y"));
  BOOST_TEST(is_safe_name(std::string(255, 'a')));
  BOOST_TEST(!is_safe_name(std::string(256, 'a')));
  for (const char* text : {"", " ", "a b", "<", ">", "&", "\"", "'", "a\n", "*", "\xc3\xa9"})
    BOOST_TEST(!is_safe_name(text));
  BOOST_TEST(!is_safe_name(std::string_view("a\0b", 3)));
}

BOOST_AUTO_TEST_CASE(an_exclusion_joins_each_pattern_wherever_it_stands) {
  BOOST_TEST(order_of(Names{"critical", "!mail_bulk", "mail*", "*", "!tmp*"}).names() ==
                 (Names{"critical", "mail*!mail_bulk!tmp*", "*!mail_bulk!tmp*"}),
             boost::test_tools::per_element());
  BOOST_CHECK(order_of(Names{"a", "*", "!b"}).mode() == Mode::strict);
  BOOST_CHECK(order_of(Names{"a,2", "*,1", "!b"}).mode() == Mode::weighted);
  BOOST_TEST(order_of(Names{"a", "m*"}).has_patterns());
  BOOST_TEST(!order_of(Names{"a", "b"}).has_patterns());
}

BOOST_AUTO_TEST_CASE(an_exclusion_that_excludes_nothing_or_a_listed_queue_is_refused) {
  for (const Names& wrong : {Names{"a", "!b"}, Names{"!b"}, Names{"a", "*", "!a"}})
    BOOST_CHECK_THROW(order_of(wrong), std::invalid_argument);
  for (const char* wrong : {"!", "!!a", "a!b", "!a,2", "*!", "mail *", "!a b", "m*!a!"})
    BOOST_CHECK_THROW(QueueOrder::parse(wrong), std::invalid_argument);
  BOOST_TEST(order_of(Names{"mail_1", "mail*", "!mail_*"}).names() == (Names{"mail_1", "mail*!mail_*"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_pattern_matches_by_stars_and_what_it_excludes_it_does_not) {
  const auto all_match = [](const char* pattern, const Names& queues) {
    for (const std::string& queue : queues) BOOST_TEST(brood::matches(pattern, queue), pattern << " " << queue);
  };
  const auto none_matches = [](const char* pattern, const Names& queues) {
    for (const std::string& queue : queues) BOOST_TEST(!brood::matches(pattern, queue), pattern << " " << queue);
  };
  all_match("mail*", {"mail", "mail_1", "mailmail"});
  none_matches("mail*", {"mai", "a_mail", "", "mail 1"});
  all_match("*_a*b", {"x_ab", "_a__a_b", "_a_b_b"});
  none_matches("*_a*b", {"xab", "_a_bc"});
  all_match("*!mail*!tmp", {"m", "tmp1"});
  none_matches("*!mail*!tmp", {"mail", "mail1", "tmp"});
}

BOOST_AUTO_TEST_CASE(a_queue_goes_by_its_name_then_by_the_first_pattern_then_by_the_star) {
  const Names listed{"*", "mail_1", "mail*", "*_1"};
  const auto entry = [&](const char* queue) { return *brood::entry_for(listed, queue); };
  BOOST_TEST(entry("mail_1") == "mail_1");
  BOOST_TEST(entry("mail_x_1") == "mail*");
  BOOST_TEST(entry("x_1") == "*_1");
  BOOST_TEST(entry("x") == "*");
  BOOST_TEST(brood::entry_for({"a", "m*"}, "x") == nullptr);
}
