// The answers of a supervisor on its control socket, byte for byte: programs of other versions read them.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "supervisor/cli/access/control_client.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Site {
  RedisServer redis;
  BroodProcess brood{redis,
                     {.workers = 1,
                      .queues = {"default", "other"},
                      .config = "tag = \"shop\"\n[worker]\ntimeout_grace = \"200ms\"\n"}};

  Site() {
    BOOST_REQUIRE_MESSAGE(eventually([&] { return logs("ready"); }, 30s), brood.log_tail());
  }

  bool logs(const std::string& event) const { return brood.log().find("event=" + event + " ") != std::string::npos; }

  ControlAnswer ask(const std::string& verb, const std::vector<std::string>& arguments = {}) {
    const std::vector<LocalSupervisor> there = local_supervisors(brood.home() / "run");
    BOOST_REQUIRE(there.size() == 1U);
    return brood::ask(there.front(), verb, arguments, 60s);
  }
};

// `pattern` is the expected answer, with # for each number that a test cannot know.
void expect(const ControlAnswer& answer, const std::string& pattern) {
  static const std::regex special(R"([.{}\[\]\\*+?|()^$])"), number("#");
  const std::string escaped = std::regex_replace(pattern, special, R"(\$&)");
  const std::regex whole(std::regex_replace(escaped, number, "[0-9]+"));
  BOOST_TEST(answer.ok);
  BOOST_TEST(std::regex_match(answer.text, whole), answer.text << "\nis not\n" << pattern);
}

const std::string relief = R"("pressure":{"memory":#.###,"limit":#,"held_back":0},"log":{"dropped":0,"trouble":""}})";

}  // namespace

BOOST_AUTO_TEST_CASE(status_is_one_object_with_its_members_in_order) {
  Site site;
  BOOST_REQUIRE(eventually([&] { return site.redis.size_of("processes") == 1; }));
  const std::string identity = site.redis.smembers("processes").at(0);
  const std::string first = R"({"identity":")" + identity + R"(","pid":)" + std::to_string(site.brood.pid()) +
                            R"(,"tag":"shop","config":")" + (site.brood.home() / "brood.toml") +
                            R"(","queues":["default","other"],"started_at":#.###,"phase":"running",)";

  expect(site.ask("status"), first +
                                 R"("generation":1,"concurrency":1,"ready":1,"busy":0,"finishing":0,"draining":[],)"
                                 R"("restart":{"under_way":false,"step":null,"last":null,"last_restart":null,)"
                                 R"("ended":{"done":0,"refused":0,"rolled_back":0,"not_now":0}},)" +
                                 relief);

  expect(site.ask("await_restart"), R"({"outcome":"not_now","reason":"no restart is under way"})");
  expect(site.ask("restart"), R"({"outcome":"done","reason":null,"scale":false,"took":#.###,"at":#.###,)"
                              R"("workers":1,"finishing":0,"generation":2})");
  expect(site.ask("await_restart"), R"({"outcome":"done","reason":null,"scale":false,"took":#.###,"at":#.###,)"
                                    R"("workers":1,"finishing":0,"generation":2})");
  expect(site.ask("scale", {"2", "default"}), R"({"outcome":"done","reason":null,"scale":true,"took":#.###,"at":#.###,)"
                                              R"("workers":2,"finishing":0,"generation":2})");
  expect(site.ask("status"),
         first +
             R"("generation":2,"concurrency":2,"ready":2,"busy":0,"finishing":0,"draining":[],)"
             R"("restart":{"under_way":false,"step":null,"last":{"outcome":"done",)"
             R"("reason":null,"scale":true,"took":#.###,"at":#.###},"last_restart":{"outcome":"done",)"
             R"("reason":null,"scale":false,"took":#.###,"at":#.###},)"
             R"("ended":{"done":1,"refused":0,"rolled_back":0,"not_now":0}},)" +
             relief);
}

BOOST_AUTO_TEST_CASE(orders_are_answered_by_their_outcomes) {
  Site site;

  expect(site.ask("dump"), R"({"workers":1})");
  expect(site.ask("resume"), R"({"outcome":"done","before":"running"})");
  expect(site.ask("quiet"), R"({"outcome":"done","took":#.###})");
  expect(site.ask("restart"), R"({"outcome":"not_now","reason":"the supervisor is quiet"})");
  expect(site.ask("resume"), R"({"outcome":"done","before":"quiet"})");
  expect(site.ask("reopen"), R"({"outcome":"done","file":""})");
  expect(site.ask("kill", {"no such job", "retry"}), "null");
  expect(site.ask("stop"), R"({"outcome":"done","took":#.###})");
}

BOOST_AUTO_TEST_CASE(a_job_that_was_ended_is_described) {
  Site site;
  enqueue(site.redis, {payload_text("Stubborn", "[600000]", 7, R"("timeout":600)")});
  BOOST_REQUIRE(eventually([&] { return site.logs("job_started"); }, 20s));
  const std::string jid = std::string(23, '0') + "7";

  expect(site.ask("kill", {jid, "discard"}),
         R"({"jid":")" + jid +
             R"(","class":"Stubborn","queue":"default","slot":#,"pid":#,"age":#.###,)"
             R"("outcome":"discard","settled":true})");
}

BOOST_AUTO_TEST_CASE(an_upgrade_that_is_refused_says_why) {
  Site site;
  site.brood.home().write("brood.toml", "this is no configuration\n");

  const ControlAnswer answer = site.ask("upgrade");

  BOOST_TEST(answer.ok);
  BOOST_TEST(answer.text.starts_with(R"({"outcome":"refused","reason":")"), answer.text);
  BOOST_TEST(site.ask("await_restart").text == answer.text);
}

BOOST_AUTO_TEST_CASE(the_log_is_opened_anew_by_all_without_a_restart) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const std::string file = directory / "log", moved = directory / "log.1";
  BroodProcess brood(redis, {.workers = 1, .config = "[log]\nlog_jobs = true\nfile = \"" + file + "\"\n"});
  BOOST_REQUIRE(eventually([&] { return text_of_file(file).find("event=ready") != std::string::npos; }, 30s));
  const pid_t worker = brood.workers().at(0);

  std::filesystem::rename(file, moved);
  const CommandResult reopened = run_brood({"reopen", "-C", brood.home() / "brood.toml"}, brood.environment());
  enqueue(redis, {payload_text("Stubborn", "[1]", 1)});

  BOOST_TEST(reopened.status == 0, reopened.errors);
  BOOST_TEST(reopened.output == "reopened: " + file + "\n");
  BOOST_TEST(eventually([&] { return text_of_file(file).find("event=job_started") != std::string::npos; }, 20s),
             text_of_file(file) + text_of_file(moved));
  BOOST_TEST(text_of_file(moved).find("event=job_started") == std::string::npos);
  BOOST_TEST(brood.workers().at(0) == worker);

  std::filesystem::rename(file, moved);
  std::filesystem::create_directory(file);
  const CommandResult refused = run_brood({"reopen"}, brood.environment());
  BOOST_TEST(refused.status == 75, refused.output);
  BOOST_TEST(refused.errors.find("Is a directory; the old file is written on") != std::string::npos, refused.errors);
}

// Matters if several supervisors run in one directory.
BOOST_AUTO_TEST_CASE(the_configuration_chooses_the_supervisor) {
  RedisServer redis;
  const auto home = std::make_shared<TemporaryDirectory>();
  const std::string first = home->write("first.toml", "tag = \"first\"\n");
  const std::string second = home->write("second.toml", "tag = \"second\"\n");
  const auto started_with = [&](const std::string& config) {
    return BroodOptions{.workers = 1, .arguments = {"-C", config}, .home = home};
  };
  BroodProcess one(redis, started_with(first)), two(redis, started_with(second));
  BOOST_REQUIRE(one.wait_ready() && two.wait_ready());

  for (const std::string verb : {"quiet", "resume", "restart", "reopen", "scale"}) {
    BOOST_TEST_CONTEXT(verb) {
      std::vector<std::string> words = {verb, "-C", second};
      if (verb == "scale") words.emplace_back("2");
      const CommandResult done = run_brood(words, one.environment());
      BOOST_TEST(done.status == 0, done.errors);
      words.erase(words.begin() + 1, words.begin() + 3);
      BOOST_TEST(run_brood(words, one.environment()).status == 64);
    }
  }
  BOOST_TEST(two.workers().size() == 2u);
  BOOST_TEST(one.workers().size() == 1u);
  const CommandResult none = run_brood({"stop", "-C", home->write("third.toml", "")}, one.environment());
  BOOST_TEST(none.status == 69);
  BOOST_TEST(none.errors.find("third.toml runs on this machine") != std::string::npos, none.errors);
  BOOST_TEST(run_brood({"stop", "--config", first}, one.environment()).status == 0);
  BOOST_TEST(one.wait_exit().value_or(-1) == 0);
  BOOST_TEST(process_exists(two.pid()));
}
