#include <brood/ambient.hpp>

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "shared/api/span_of_run.hpp"

using namespace brood;

namespace {

// The members that a push carries, one a line.
std::string carried(Push push = {.job_class = "X"}) {
  ambient::carry(push);
  std::string text;
  for (const auto& [name, json] : push.members) text += (text.empty() ? "" : "\n") + name + ":" + json;
  return text;
}

std::string carried_on(const std::string& members) {
  ambient::restore(R"({"class":"X","args":[],)" + members + "}");
  return carried();
}

struct Cleared {
  Cleared() { ambient::clear(); }
  ~Cleared() { ambient::clear(); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_carried_where_nothing_is_set) {
  const Cleared cleared;
  BOOST_TEST(carried() == "");
  ambient::set("tenant", "1");
  ambient::unset("tenant");
  BOOST_TEST(carried() == "");
}

BOOST_AUTO_TEST_CASE(what_is_set_goes_with_a_push_in_the_form_of_sidekiq_7) {
  const Cleared cleared;
  ambient::set("tenant", "42");
  ambient::set("user", R"( {"name":"h\u00e9"} )");
  ambient::set("tenant", "43");
  ambient::set_locale("de");
  ambient::set_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  BOOST_TEST(carried() ==
             "cattr:{\"tenant\":43,\"user\":{\"name\":\"h\\u00e9\"}}\nlocale:\"de\"\n"
             "traceparent:\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"");
}

BOOST_AUTO_TEST_CASE(what_a_push_brings_itself_is_kept) {
  const Cleared cleared;
  ambient::set("tenant", "42");
  ambient::set_locale("de");
  BOOST_TEST(carried({.job_class = "X", .members = {{"cattr", R"({"tenant":1})"}}}) ==
             "cattr:{\"tenant\":1}\nlocale:\"de\"");
}

BOOST_AUTO_TEST_CASE(an_attribute_is_json) {
  const Cleared cleared;
  for (const char* bad : {"", "x", "1 2", "{", "\"\xff\""})
    BOOST_CHECK_THROW(ambient::set("tenant", bad), std::invalid_argument);
  BOOST_TEST(!ambient::get("tenant"));
}

BOOST_AUTO_TEST_CASE(attributes_of_sidekiq_7_have_names_and_are_carried_on) {
  const Cleared cleared;
  BOOST_TEST(carried_on(R"("cattr":{"tenant":42,"user":{"id":7}},"locale":"fr","traceparent":"00-x")") ==
             "cattr:{\"tenant\":42,\"user\":{\"id\":7}}\nlocale:\"fr\"\ntraceparent:\"00-x\"");
  BOOST_TEST(ambient::get("tenant").value() == "42");
  BOOST_TEST(ambient::get("user").value() == R"({"id":7})");
  BOOST_TEST(!ambient::get("other"));
  BOOST_TEST(ambient::attributes().size() == 2u);
  BOOST_TEST(ambient::locale() == "fr");
  BOOST_TEST(ambient::traceparent() == "00-x");
}

BOOST_AUTO_TEST_CASE(attributes_of_sidekiq_8_have_names_and_are_carried_on_as_active_job_wrote_them) {
  const Cleared cleared;
  const std::string symbol = R"({"_aj_serialized":"ActiveJob::Serializers::SymbolSerializer","value":"user"})";
  const std::string record = R"({"_aj_globalid":"gid://app/User/7"})";
  const std::string cattr = R"([["tenant",42],[)" + symbol + "," + record + "]]";
  BOOST_TEST(carried_on("\"cattr\":" + cattr) == "cattr:" + cattr);
  BOOST_TEST(ambient::get("tenant").value() == "42");
  BOOST_TEST(ambient::get("user").value() == record);
  ambient::set("user", "null");
  ambient::set("more", "1");
  BOOST_TEST(carried() == R"(cattr:[["tenant",42],[)" + symbol + R"(,null],["more",1]])");
}

BOOST_AUTO_TEST_CASE(the_last_counts_of_an_attribute_given_twice) {
  const Cleared cleared;
  for (const char* twice : {R"({"tenant":1,"tenant":2})", R"([["tenant",1],["tenant",2]])"}) {
    carried_on(std::string("\"cattr\":") + twice);
    BOOST_TEST(ambient::get("tenant").value() == "2");
    ambient::set("tenant", "3");
    BOOST_TEST(carried().find("3") > carried().find("1"));
    BOOST_TEST(carried().find("2") == std::string::npos);
    ambient::unset("tenant");
    BOOST_TEST(!ambient::get("tenant"));
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_carried_on_as_it_is) {
  const Cleared cleared;
  for (const char* odd : {"7", "\"x\"", "[1]", "[[\"a\"]]", "[[1,2]]", "[[{\"no\":1},2]]", "[[\"a\",1,2]]"}) {
    BOOST_TEST(carried_on(std::string("\"cattr\":") + odd) == std::string("cattr:") + odd);
    BOOST_TEST(ambient::attributes().empty());
  }
  BOOST_TEST(carried_on(R"("cattr":{"a":1},"cattr_1":{"b":2},"cattr_12":[],"cattrs":1,"cattr_x":1,"cattr_":1)") ==
             "cattr_1:{\"b\":2}\ncattr_12:[]\ncattr:{\"a\":1}");
  BOOST_TEST(carried_on(R"("locale":7,"traceparent":null)") == "");
}

BOOST_AUTO_TEST_CASE(a_payload_that_says_nothing_leaves_nothing) {
  const Cleared cleared;
  for (const char* payload : {"{}", "[]", "", "{\"cattr\":", R"({"a":"\ud800","cattr":{"tenant":1}})"}) {
    ambient::set("tenant", "42");
    ambient::set_locale("de");
    ambient::restore(payload);
    BOOST_TEST(carried() == "");
  }
}

BOOST_AUTO_TEST_CASE(a_scope_puts_back_what_was_there) {
  const Cleared cleared;
  ambient::set("tenant", "1");
  {
    const ambient::Scope scope;
    ambient::restore(R"({"cattr":{"tenant":2},"locale":"de"})");
    BOOST_TEST(ambient::get("tenant").value() == "2");
  }
  BOOST_TEST(carried() == R"(cattr:{"tenant":1})");
}

BOOST_AUTO_TEST_CASE(each_thread_has_its_own) {
  const Cleared cleared;
  ambient::set("tenant", "1");
  std::string other = "?";
  std::thread([&] { other = carried(); }).join();
  BOOST_TEST(other == "");
}

// The caller of a trace's first service has written it, and Sidekiq's pages print unknown members without escaping.
BOOST_AUTO_TEST_CASE(a_tracestate_is_carried_on_unless_it_is_markup) {
  const Cleared cleared;
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  ambient::set_span_of_run(trace, "rojo=1");
  BOOST_TEST(carried() == "traceparent:\"" + trace + "\"\ntracestate:\"rojo=1\"");
  ambient::set_span_of_run(trace, "rojo=<b>");
  BOOST_TEST(carried() == "traceparent:\"" + trace + "\"");
  ambient::set_span_of_run("", "");
}
