#include <boost/test/unit_test.hpp>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/job/payload.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;

namespace {

// Ruby's current attributes, as Sidekiq 7 writes them and as Active Job writes them for Sidekiq 8.
const std::string of_7 = R"({"tenant":42,"user":{"_aj_globalid":"gid://app/User/7"}})";
const std::string of_8 =
    R"([["tenant",42],[{"_aj_serialized":"ActiveJob::Serializers::SymbolSerializer","value":"user"},)"
    R"({"_aj_globalid":"gid://app/User/7"}]])";
const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

struct Told {
  explicit Told(std::string told_config = "") : config(std::move(told_config)) {}

  const std::string config;
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string path = directory / "told";
  // Only its worker passes the address of Redis to a job.
  BroodProcess brood{redis,
                     {.workers = 1,
                      .libraries = {BROOD_BINARY_DIR "/tests/job_libraries/libcontext_jobs.so"},
                      .config = config,
                      .environment = {{"REDIS_URL", "unix:///nonexistent.sock"}}}};

  void push(const std::string& job_class, const std::string& args, const std::string& members) {
    enqueue(redis, {R"({"retry":true,"queue":"default","class":")" + job_class + R"(","args":)" + args +
                    R"(,"jid":"0123456789abcdef01234567","created_at":1795237318.25)" + members + "}"});
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  bool tells(std::size_t jobs) const {
    return eventually([&] { return lines().size() >= jobs; }, std::chrono::seconds(20));
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_ruby_has_set_is_there_in_the_job_and_in_those_that_it_enqueues) {
  for (const std::string& cattr : {of_7, of_8}) {
    Told told;
    told.push("TellContext", "[\"" + told.path + "\",2]",
              R"(,"cattr":)" + cattr + R"(,"locale":"fr","traceparent":")" + trace + "\"");
    BOOST_TEST_REQUIRE(told.tells(3), told.brood.log_tail());
    for (const std::string& line : told.lines())
      BOOST_TEST(line == R"(42|{"_aj_globalid":"gid://app/User/7"}|fr|)" + trace);
  }
}

// Runs without a collector: the carried context does not depend on one.
BOOST_AUTO_TEST_CASE(where_a_collector_is_told_of_runs_a_job_finds_its_own_span_and_its_pushes_carry_it_on) {
  Told told("[otlp]\nendpoint = \"http://127.0.0.1:9\"\npropagation = \"child\"\n");
  told.push("TellContext", "[\"" + told.path + "\",2]",
            R"(,"locale":"fr","tracestate":"rojo=1","traceparent":")" + trace + "\"");
  BOOST_TEST_REQUIRE(told.tells(3), told.brood.log_tail());
  std::set<std::string> spans = {trace};
  for (const std::string& line : told.lines()) {
    const std::string span = line.substr(line.rfind('|') + 1);
    BOOST_TEST(span.substr(0, 36) == trace.substr(0, 36));
    BOOST_TEST(span.substr(52) == "-01");
    spans.insert(span);
  }
  BOOST_TEST(spans.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_job_finds_nothing_that_another_has_left_behind) {
  Told told;
  for (int i = 0; i < 2; ++i) told.push("TellContext", "[\"" + told.path + "\",0]", "");
  BOOST_TEST_REQUIRE(told.tells(2), told.brood.log_tail());
  for (const std::string& line : told.lines()) BOOST_TEST(line == "-|-||");
}

BOOST_AUTO_TEST_CASE(a_retry_keeps_what_the_job_came_with) {
  Told told;
  told.push("FailInContext", "[]", R"(,"cattr":)" + of_8 + R"(,"locale":"fr")");
  BOOST_TEST_REQUIRE(eventually([&] { return told.redis.size_of("retry") == 1; }), told.brood.log_tail());
  const Payload retry = Payload::parse(told.redis.zrange("retry").front().first);
  BOOST_TEST(retry.raw("cattr").value() == of_8);
  BOOST_TEST(retry.string("locale").value() == "fr");
  BOOST_TEST(retry.string("error_message").value() == "tenant 42");
}
