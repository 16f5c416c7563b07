#include "shared/config/tenants.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/config/queue_order.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "tests/support/loaded_config.hpp"

using namespace brood;
using namespace brood::loaded_config;
using Names = std::vector<std::string>;

namespace {

Names names_of(const Names& entries) {
  std::vector<QueueOrder::Entry> order;
  for (const std::string& entry : entries) order.push_back(QueueOrder::parse(entry));
  return QueueOrder(order).names();
}

Names expanded(const Names& entries, const Names& known, const NameSet& paused = {}) {
  return expand_queues(names_of(entries), {known, paused}, {});
}

TenantRules rules(const std::string& tenants, const Names& entries) {
  return rules_of_tenants(tenants, names_of(entries), {});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_queue_with_a_tilde_is_a_tenant_of_what_stands_before) {
  BOOST_TEST(tenant_in("images~acme")->base == "images");
  BOOST_TEST(tenant_in("images~acme")->tenant == "acme");
  BOOST_TEST(tenant_in("images~a~b")->tenant == "a~b");
  for (const char* ordinary : {"images", "~", "~a", "a~", ""}) BOOST_TEST(!tenant_in(ordinary), ordinary);
  BOOST_TEST(is_safe_queue("images~acme"));
  BOOST_TEST(!is_safe_name("images~acme"));
}

BOOST_AUTO_TEST_CASE(a_pattern_without_tilde_takes_whole_bases) {
  for (const char* pattern : {"mail*", "*", "mail~*", "mail~a*", "*il"})
    BOOST_TEST(matches(pattern, "mail~acme"), pattern);
  for (const char* pattern : {"mail*e", "mail", "mai*x", "mail~b*", "*!mail*", "*!mail~*", "*!mail~acme"})
    BOOST_TEST(!matches(pattern, "mail~acme"), pattern);
  for (const char* wrong : {"*~acme", "m*~*", "~*", "a,b*~c"})
    BOOST_CHECK_THROW(QueueOrder::parse(wrong), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(tenants_stand_in_a_draw_as_one_entry_of_their_base) {
  const Names known{"a", "images~*", "mail", "mail_bulk~*"};
  BOOST_TEST(expanded({"images~*"}, {}) == Names{"images~*"});
  BOOST_TEST(expanded({"mail*"}, known) == (Names{"mail", "mail_bulk~*"}));
  BOOST_TEST(expanded({"*", "!mail_bulk~*"}, known) == (Names{"a", "images~*", "mail"}));
  BOOST_TEST(expanded({"*", "!im*"}, known) == (Names{"a", "mail", "mail_bulk~*"}));
  BOOST_TEST(expanded({"images~*", "*"}, known) == (Names{"images~*", "a", "mail", "mail_bulk~*"}));
  BOOST_TEST(expanded({"*", "images*"}, known) == (Names{"a", "mail", "mail_bulk~*", "images~*"}));
  BOOST_TEST(expanded({"images~b*", "images~*"}, known) == (Names{"images~b*", "images~*"}));
  BOOST_TEST(expanded({"images~*", "a"}, known, {"images~*"}) == Names{"a"});
}

BOOST_AUTO_TEST_CASE(a_fetch_skips_tenants_that_are_listed_excluded_or_taken_by_another_pattern) {
  BOOST_TEST(rules("images~*", {"images~*"}).skipped.empty());
  BOOST_TEST(rules("images~*", {"images~*"}).taken.empty());
  BOOST_TEST(rules("images~*", {"images~vip", "*", "!images~b_d*"}).skipped == (Names{"^vip$", "^b%_d.*$"}));
  BOOST_TEST(rules("images~*", {"images~*", "images~vip,3"}).skipped == Names{"^vip$"});
  BOOST_TEST(rules("images~b*", {"images~b*", "images~*"}).taken == Names{"^b.*$"});
  BOOST_TEST(rules("images~b*", {"images~b*", "images~*"}).skipped.empty());
  BOOST_TEST(rules("images~*", {"images~b*", "images~*"}).skipped == Names{"^b.*$"});
  BOOST_TEST(rules("images~*", {"*", "images*"}).skipped.empty());
  BOOST_TEST(rules_of_tenants("images~*", {"images~*"}, {{"images", {{"acme", 3}, {"b", 2}}}}).weights ==
             "\nacme 3\nb 2\n");
}

BOOST_AUTO_TEST_CASE(the_configuration_gives_tenants_weights_and_each_of_them_a_cap) {
  const Config config = load(
      "queues = ['images~vip', 'images~*']\n[tenants.images]\nacme = 3\n'co.x' = 2\n"
      "[limits.each]\nqueues = ['images~*']\nconcurrent = 2\nper = 'tenant'\n");
  const CapsuleSettings& capsule = config.capsules.front();
  BOOST_TEST((capsule.tenant_weights == TenantWeights{{"images", {{"acme", 3}, {"co.x", 2}}}}));
  BOOST_REQUIRE(capsule.caps.size() == 2u);
  BOOST_TEST(capsule.caps[0].per_tenant);
  BOOST_TEST(capsule.caps[1].name == "each~vip");  // which is fetched by its name
  BOOST_TEST(capsule.caps[1].queues == Names{"images~vip"});

  BOOST_TEST(complaint("[tenants.images]\nacme = 0\n") == "2: tenants.images.acme: must be between 1 and 1000, not 0");
  BOOST_TEST(complaint("[tenants.images]\nacme = 'x'\n").find("an integer") != std::string::npos);
  BOOST_TEST(complaint("[tenants.images]\n'a b' = 1\n").find("letters, digits") != std::string::npos);
  BOOST_TEST(complaint("[limits.a]\nqueues = ['images']\nconcurrent = 2\nper = 'tenant'\n").find("images~*") !=
             std::string::npos);
  BOOST_TEST(complaint("queues = ['*~acme']\n").find("without *") != std::string::npos);
}
