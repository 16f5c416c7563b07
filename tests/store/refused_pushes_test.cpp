#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/api/push/push_writer.hpp"
#include "shared/json/json.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct HardJob {
  std::string name;
  static constexpr std::string_view job_class = "HardJob";
  void perform() {}
};

// The reason why a push of a JSON object is refused; empty if it is taken.
std::string why_refused(const std::string& json) {
  try {
    prepare_push(Push::parse(json), wall_now());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// The vectors' objects, as JSON again.
std::string json_of(const test::VectorValue& value) {
  std::string out;
  switch (value.kind) {
    case test::VectorValue::Kind::string:
      return json_string(value.text);
    case test::VectorValue::Kind::other:
      return value.text;
    case test::VectorValue::Kind::array:
      for (const auto& element : value.elements) out += (out.empty() ? "" : ",") + json_of(element);
      return "[" + out + "]";
    case test::VectorValue::Kind::object:
      for (const auto& [key, member] : value.members) {
        out += (out.empty() ? "" : ",") + json_string(key) + ":" + json_of(member);
      }
  }
  return "{" + out + "}";
}

// Ruby's push_bulk: one class, many argument lists.
void push_bulk(Client& client, const test::VectorValue& item) {
  const std::vector<HardJob> jobs(item["args"].elements.size());
  const auto time = [](const test::VectorValue& at) {
    return std::chrono::system_clock::from_time_t(static_cast<std::time_t>(at.number()));
  };
  if (item.has("spread_interval")) {
    std::vector<Push> pushes(jobs.size(), {.job_class = "X"});
    if (item.has("at")) pushes.front().at = time(item["at"]);
    client.push_bulk(pushes, {.spread = std::chrono::seconds(static_cast<int>(item["spread_interval"].number()))});
  } else if (item.has("at")) {
    std::vector<std::chrono::system_clock::time_point> times;
    for (const auto& at : item["at"].elements) times.push_back(time(at));
    client.enqueue_bulk_at(times, jobs);
  } else if (item.has("jid")) {
    client.enqueue_bulk(jobs, {.jid = item["jid"].text});
  } else {
    std::vector<Push> pushes;
    for (const auto& args : item["args"].elements) pushes.push_back({.job_class = "X", .args = json_of(args)});
    client.push_bulk(pushes);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_sidekiq_refuses_is_refused_before_anything_is_sent) {
  int refused = 0;
  for (const test::Vector& vector : test::vectors("reject-")) {
    if (!vector.input.has("push")) continue;
    BOOST_TEST_CONTEXT(vector.id) BOOST_TEST(why_refused(json_of(vector.input["push"])) != "");
    ++refused;
  }
  BOOST_TEST(refused == 7);
  BOOST_TEST(why_refused(R"({"class":"X","args":[{"a":[1,2.0,null,true]}]})") == "");
}

BOOST_AUTO_TEST_CASE(a_bulk_that_sidekiq_refuses_is_refused_before_anything_is_sent) {
  RedisServer redis;
  Client client{redis.url()};
  int refused = 0;
  for (const test::Vector& vector : test::vectors("reject-")) {
    if (!vector.input.has("push_bulk")) continue;
    BOOST_TEST_CONTEXT(vector.id)
    BOOST_CHECK_THROW(push_bulk(client, vector.input["push_bulk"]), std::invalid_argument);
    ++refused;
  }
  BOOST_TEST(refused == 6);
  BOOST_TEST(redis.keys().empty());
}

BOOST_AUTO_TEST_CASE(an_option_of_seconds_is_a_number_in_quotes_or_not) {
  const auto why = [](const std::string& option) { return why_refused(R"({"class":"X","args":[],)" + option + "}"); };
  const auto pushed = [](const std::string& option) {
    return prepare_push(Push::parse(R"({"class":"X","args":[],)" + option + "}"), wall_now());
  };
  for (const char* name : {"timeout", "retry_for", "expires_in", "expiry", "unique_for"}) {
    const std::string option = "\"" + std::string(name) + "\":";
    BOOST_TEST(pushed(option + R"("30.5")").payload.find(option + "30.5,") != std::string::npos, name);
    for (const char* unused : {"null", "false", "0", "30"}) BOOST_TEST(why(option + unused) == "", name << unused);
    for (const char* slip : {R"("5m")", R"("abc")", R"("")", "true", "{}"})
      BOOST_TEST(why(option + slip) == std::string(name) + " is no number of seconds: " + slip);
  }
  BOOST_TEST(why(R"("retry_for":"1e10")") == "retry_for is more than 1,000,000,000 seconds");
  BOOST_TEST(why(R"("keep_result":-1)") == "keep_result is not negative");
  BOOST_TEST(why(R"("keep_result":"-0.5")") == "keep_result is not negative");
  for (const char* fine : {"0", "60", "null"}) BOOST_TEST(why(R"("keep_result":)" + std::string(fine)) == "");
  BOOST_TEST(pushed(R"("at":"1795237403.5")").score.value() == 1795237403.5);
  BOOST_TEST(why(R"("at":"5m")") != "");
}

BOOST_AUTO_TEST_CASE(what_no_job_can_be_is_refused) {
  for (const char* no :
       {"", "[]", "null", R"({"class":"","args":[]})", R"({"class":"<b>","args":[]})", R"({"class":"A B","args":[]})",
        R"({"class":"X","args":[],"jid":"a'b"})", R"({"class":"X","args":[],"jid":""})",
        R"({"class":"X","args":[],"queue":"a b"})", R"({"class":"X","args":[],"retry":-1})",
        R"({"class":"X","args":[],"retry":"7"})", R"({"class":"X","args":[]} x)",
        R"({"class":"X","args":[],"at":null})", R"({"class":"X","args":[],"at":1e300})",
        R"({"class":"X","args":[NaN]})", R"({"class":"X","args":[01]})", R"({"class":"X","args":["\ud800"]})"}) {
    BOOST_TEST_CONTEXT(no) BOOST_TEST(why_refused(no) != "");
  }
  // The payload around them is one more level, and Ruby reads a hundred.
  const auto nested = [](std::size_t depth) {
    return R"({"class":"X","args":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  BOOST_TEST(why_refused(nested(99)) == "");
  BOOST_TEST(why_refused(nested(100)) != "");

  RedisServer redis;
  Client client{redis.url()};
  BOOST_CHECK_THROW(client.push({.job_class = "X", .args = "[1"}), std::invalid_argument);
  BOOST_CHECK_THROW(client.push({.job_class = "X", .members = {{"class", "\"Y\""}}}), std::invalid_argument);
  BOOST_CHECK_THROW(client.push({.job_class = "X", .members = {{"a", "1,\"class\":\"Y\""}}}), std::invalid_argument);
  BOOST_CHECK_THROW(client.push_bulk({{.job_class = "X"}, {.job_class = "X", .args = "1"}}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(HardJob{.name = "\xff"}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue_bulk(std::vector<HardJob>{{.name = "fine"}, {.name = "\xff"}}),
                    std::invalid_argument);
  BOOST_TEST(redis.keys().empty());
}
