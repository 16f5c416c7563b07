// Orders to a supervisor of another machine, through Redis.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* jid = "000000000000000000000007";  // of job 7

struct Site {
  RedisServer redis;
  BroodProcess brood;
  std::string identity;

  explicit Site(int workers = 1) : brood(redis, {.workers = workers}) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    BOOST_REQUIRE(eventually([&] { return redis.size_of("processes") == 1; }, 30s));
    // A beating supervisor is listed as brood's once a worker has registered, which happens after it is ready.
    BOOST_REQUIRE(eventually([&] { return redis.size_of("brood:processes") == 1; }, 30s));
    identity = redis.smembers("processes")[0];
  }
  // Runs a command as if on another machine: it sees nothing of this one.
  CommandResult tell(std::vector<std::string> words) const {
    words.insert(words.end(), {"--redis", redis.url()});
    return run_brood(words, {{"RUNTIME_DIRECTORY", "/nowhere"}});
  }
  void begin_job() {
    enqueue(redis, {payload_text("Sleep", "[600000]", 7)});
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of(identity + ":work") == 1; }, 30s), brood.log_tail());
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_of_another_machine_is_ended) {
  Site site;
  site.begin_job();
  const CommandResult result = site.tell({"kill", std::string(jid).substr(0, 24), "--outcome", "dead"});
  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(result.output.find("Sleep ") == 0u, result.output);
  BOOST_TEST(eventually([&] { return site.redis.size_of("dead") == 1; }, 30s), site.brood.log_tail());
  BOOST_TEST(eventually([&] { return site.redis.size_of(site.identity + ":work") == 0; }, 30s));  // at the next beat
  BOOST_TEST(site.tell({"kill", jid}).status == 75);
}

BOOST_AUTO_TEST_CASE(without_redis_a_kill_says_what_it_does_not_know) {
  const CommandResult result =
      run_brood({"kill", jid, "--redis", "unix:///nowhere/s"}, {{"RUNTIME_DIRECTORY", "/nowhere"}});
  BOOST_TEST(result.status == 69);
  BOOST_TEST(result.errors.find("no supervisor of this user runs on this machine; other machines") != std::string::npos,
             result.errors);
}

// Both orders come at once: the surplus worker finishes, and the quiet stays.
BOOST_AUTO_TEST_CASE(a_quiet_that_comes_with_a_scale_leaves_as_many_workers_as_it_says) {
  Site site(4);
  site.redis.command({"LPUSH", site.identity + "-signals", R"(brood ["scale","2","default"])", "TSTP"});
  BOOST_REQUIRE(eventually([&] { return site.redis.hget(site.identity, "quiet") == "true"; }, 60s));
  site.redis.command({"LPUSH", site.identity + "-signals", R"(brood ["resume"])"});
  BOOST_REQUIRE(eventually([&] { return site.redis.hget(site.identity, "quiet") == "false"; }, 60s));
  BOOST_TEST(eventually([&] { return site.redis.hget(site.identity, "concurrency") == "2"; }, 60s),
             site.brood.log_tail());
  BOOST_TEST(eventually([&] { return site.brood.workers().size() == 2; }, 60s), site.brood.log_tail());
  BOOST_TEST(site.tell({"scale", "3", "--process", site.identity}).status == 0);
  BOOST_TEST(eventually([&] { return site.brood.workers().size() == 3; }, 60s), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(supervisors_of_other_machines_are_scaled) {
  Site site;
  const auto has = [&](const std::string& workers) {
    return eventually([&] { return site.redis.hget(site.identity, "concurrency") == workers; }, 60s);
  };
  BOOST_TEST(site.tell({"scale", "2", "--process", site.identity.substr(0, site.identity.rfind(':'))}).status == 0);
  BOOST_TEST(has("2"), site.brood.log_tail());
  const CommandResult all = site.tell({"scale", "default=3", "--all", "--json"});
  BOOST_TEST(all.status == 0);
  BOOST_TEST(all.output == "{\"asked\":[\"" + site.identity + "\"],\"answers\":[{\"identity\":\"" + site.identity +
                               "\",\"outcome\":\"done\",\"reason\":null}]}\n");
  BOOST_TEST(site.redis.hget(site.identity, "concurrency").value_or("") == "3", site.brood.log_tail());
  BOOST_TEST(site.tell({"scale", "2", "--process", "nobody"}).status == 69);
  BOOST_TEST(site.tell({"scale", "2"}).status == 64);
  // The second order comes while the first is under way.
  site.redis.command(
      {"LPUSH", site.identity + "-signals", R"(brood ["scale","4","default"])", R"(brood ["scale","5","default"])"});
  BOOST_TEST(has("4"), site.brood.log_tail());
  BOOST_TEST(eventually([&] { return times_logged(site.brood, "order_not_carried_out") == 1; }, 30s),
             site.brood.log_tail());
  // The supervisor refuses this, which the command and the log report.
  const CommandResult refused = site.tell({"scale", "10001", "--all"});
  BOOST_TEST(refused.status == 78);
  BOOST_TEST(refused.errors.find("scale takes a number from 1 to") != std::string::npos, refused.errors);
  BOOST_TEST(eventually([&] { return times_logged(site.brood, "order_refused") == 1; }, 30s), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(processes_of_other_machines_resume_and_those_of_ruby_take_no_such_order) {
  Site site;
  BOOST_REQUIRE(site.tell({"processes", "quiet", site.identity}).status == 0);
  BOOST_REQUIRE(eventually([&] { return site.redis.hget(site.identity, "quiet") == "true"; }, 30s));
  BOOST_TEST(site.tell({"processes", "resume", site.identity}).status == 0);
  BOOST_TEST(eventually([&] { return site.redis.hget(site.identity, "quiet") == "false"; }, 30s));

  site.redis.command({"SADD", "processes", "ruby:1:abc"});
  site.redis.command({"HSET", "ruby:1:abc", "info", R"({"hostname":"ruby","pid":1,"queues":[],"concurrency":1})",
                      "busy", "0", "beat", "1", "quiet", "true"});
  const CommandResult result = site.tell({"processes", "resume", "ruby:1"});
  BOOST_TEST(result.status == 69);
  BOOST_TEST(result.errors.find("orders are not accepted by") != std::string::npos, result.errors);
  BOOST_TEST(site.redis.size_of("ruby:1:abc-signals") == 0u);
}

BOOST_AUTO_TEST_CASE(no_content_of_the_list_of_signals_does_harm) {
  Site site;
  site.begin_job();
  const std::string key = site.identity + "-signals";
  int sent = 0;
  for (const std::string& word :
       {std::string("brood"), std::string("brood []"), std::string("brood [\"stop\"]"),
        "brood " + std::string(100'000, '['), std::string("brood [\"kill\",\"\",\"dead\"]"),
        std::string("brood [\"kill\",\"x\",\"later\"]"), std::string("brood [\"restart\"]"),
        std::string(R"(brood ["restart",{"id":"","by":"","until":9999999999}])"),
        std::string("brood [\"scale\",\"0\",\"default\"]"),
        std::string("brood [\"scale\",\"99999999999999999999\",\"default\"]"),
        std::string("brood [\"scale\",\"-1\",\"default\"]"), std::string("brood [\"scale\",\"2\",\"nowhere\"]"),
        std::string("\xff\x00\x1b[31m", 7), std::string()}) {
    site.redis.command({"LPUSH", key, word});
    ++sent;
  }
  BOOST_TEST(eventually([&] { return site.redis.size_of(key) == 0; }, 60s));
  BOOST_TEST(
      eventually([&] { return times_logged(site.brood, "signal_from_redis") == static_cast<std::size_t>(sent); }, 30s));
  BOOST_TEST(site.redis.hget(site.identity, "quiet").value_or("") == "false");
  BOOST_TEST(site.redis.hget(site.identity, "concurrency").value_or("") == "1");
  BOOST_TEST(site.redis.size_of(site.identity + ":work") == 1u);
  BOOST_TEST(site.brood.log().find('\x1b') == std::string::npos);
}
