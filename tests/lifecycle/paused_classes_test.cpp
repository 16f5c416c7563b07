#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "shared/json/json_object.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const char* const laid_aside = "brood:quarantined";

struct Site {
  RedisServer redis;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;
  int pushed = 0;

  explicit Site(BroodOptions options = {}) : brood(redis, std::move(options)) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  }
  CommandResult command(const std::vector<std::string>& words) const {
    auto environment = brood.environment();
    environment["REDIS_URL"] = redis.url();
    return run_brood(words, environment);
  }
  // Waits for the supervisor's log line: then every worker can know of the pause.
  void pause(const std::string& job_class, const std::vector<std::string>& options = {}) {
    const std::size_t before = times_logged(brood, "classes_paused");
    std::vector<std::string> words{"classes", "pause", job_class};
    words.insert(words.end(), options.begin(), options.end());
    BOOST_TEST(command(words).status == 0);
    BOOST_REQUIRE_MESSAGE(eventually([&] { return times_logged(brood, "classes_paused") > before; }), brood.log_tail());
  }
  void push(int jobs, int milliseconds = 0) {
    std::vector<std::string> payloads;
    for (int i = 0; i < jobs; ++i, ++pushed)
      payloads.push_back(payload_text(
          "Ledger",
          "[\"" + ledger.path() + "\",\"" + std::to_string(pushed) + "\"," + std::to_string(milliseconds) + "]",
          pushed));
    enqueue(redis, payloads);
  }
  bool lies_aside(std::size_t jobs) {
    return eventually([&] { return redis.size_of(laid_aside) == jobs && no_job_is_left(redis); }, 40s);
  }
  void check_all_ran() {
    BOOST_TEST(
        eventually([&] { return ledger.has_done(static_cast<std::size_t>(pushed)) && no_job_is_left(redis); }, 40s),
        brood.log_tail());
    const Ledger::Verdict verdict = ledger.judge(pushed);
    BOOST_TEST(verdict.lost.empty());
    BOOST_TEST(verdict.doubled.empty());
    BOOST_TEST(redis.size_of(laid_aside) == 0u);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_job_of_a_paused_class_begins_and_all_run_when_it_is_paused_no_more) {
  Site site({.workers = 1});
  site.push(1);
  BOOST_TEST(eventually([&] { return site.ledger.has_done(1); }), site.brood.log_tail());
  site.pause("Ledger");
  site.push(40);
  BOOST_TEST(site.lies_aside(40), site.brood.log_tail());
  BOOST_TEST(site.ledger.begins() == 1u);

  // Jobs of other classes run, even behind them in the queue.
  enqueue(site.redis, {payload_text("Sleep", "[0]", 1'000)});
  BOOST_TEST(eventually([&] { return times_logged(site.brood, "job_done") == 2; }), site.brood.log_tail());

  const CommandResult listed = site.command({"classes", "--json"});
  BOOST_TEST(listed.status == 0);
  BOOST_TEST(listed.output.find(R"({"class":"Ledger","paused":true,"waiting":40,"runs":1,"failed":0,"crashed":0,)") !=
                 std::string::npos,
             listed.output);
  BOOST_TEST(listed.output.find(R"({"class":"Sleep","paused":false,"waiting":0,"runs":1,)") != std::string::npos,
             listed.output);
  BOOST_TEST(site.command({"quarantine", "--json"}).output == "[]\n");
  BOOST_TEST(site.command({"status"}).output.find("Paused classes") != std::string::npos);
  BOOST_TEST(site.command({"status", "--json"}).output.find(R"("paused_classes":["Ledger"])") != std::string::npos);

  const CommandResult goes_on = site.command({"classes", "unpause", "Ledger"});
  BOOST_TEST(goes_on.output.starts_with("Ledger: goes on; "), goes_on.output);
  site.check_all_ran();
}

BOOST_AUTO_TEST_CASE(what_runs_goes_on_and_a_pause_holds_over_a_restart) {
  Site site({.workers = 2});
  site.push(1, 1'500);
  BOOST_REQUIRE(eventually([&] { return site.ledger.begins() == 1; }));
  site.pause("Ledger");
  site.push(5);
  BOOST_TEST(eventually([&] { return site.ledger.has_done(1); }), site.brood.log_tail());
  BOOST_TEST(site.lies_aside(5), site.brood.log_tail());
  BOOST_TEST(site.command({"restart"}).status == 0);
  site.push(5);
  BOOST_TEST(site.lies_aside(10), site.brood.log_tail());
  site.brood.kill9();
  site.push(5);
  site.brood.start();
  BOOST_REQUIRE(site.brood.wait_ready());
  BOOST_TEST(site.lies_aside(15), site.brood.log_tail());
  BOOST_TEST(site.ledger.begins() == 1u);
  site.command({"classes", "unpause", "Ledger"});
  site.check_all_ran();
}

// The command may be killed in between, and a worker that does not know of the unpause may set a job aside.
BOOST_AUTO_TEST_CASE(workers_put_back_by_themselves_what_waits_for_nothing) {
  Site site({.workers = 2});
  site.pause("Ledger");
  site.push(250);
  BOOST_TEST(site.lies_aside(250), site.brood.log_tail());
  site.redis.command({"SREM", "brood:paused_classes", "Ledger"});
  site.check_all_ran();
}

// The other workers look every half second while there is work, each for itself.  A look by a worker that did not know
// of the change must not replace theirs.
BOOST_AUTO_TEST_CASE(busy_workers_put_back_soon_what_waits_for_nothing) {
  Site site({.workers = 2, .queues = {"default", "busy"}});
  std::vector<std::string> payloads;
  for (int i = 0; i < 600; ++i) payloads.push_back(payload_text("Sleep", "[100]", 10'000 + i));
  enqueue(site.redis, payloads, "busy");
  site.pause("Ledger");
  site.push(1);
  BOOST_TEST(eventually([&] { return site.redis.size_of(laid_aside) == 1; }), site.brood.log_tail());
  BOOST_TEST(eventually([&] { return site.redis.keys("brood:quarantine:look:*").size() == 1; }), site.brood.log_tail());
  site.redis.command({"SREM", "brood:paused_classes", "Ledger"});
  const auto began = std::chrono::steady_clock::now();
  BOOST_TEST(eventually([&] { return site.ledger.has_done(1); }, 40s), site.brood.log_tail());
  BOOST_TEST_MESSAGE(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() << " s");
  BOOST_TEST(site.redis.size_of("queue:busy") > 0u);
}

// Locks that a job releases when it begins stay while it has not begun.
BOOST_AUTO_TEST_CASE(a_unique_job_keeps_its_lock_while_its_class_is_paused) {
  Site site({.workers = 1});
  site.pause("Ledger");
  const std::vector<std::string> words{"enqueue", "Ledger", site.ledger.path(), "x", "0", "--unique-until", "start"};
  BOOST_TEST(site.command(words).status == 0);
  BOOST_TEST(site.lies_aside(1), site.brood.log_tail());
  BOOST_TEST(site.redis.keys("brood:unique:*").size() == 1u);
  BOOST_TEST(site.command(words).status == 75);
  site.command({"classes", "unpause", "Ledger"});
  BOOST_TEST(eventually([&] { return site.ledger.has_done(1) && no_job_is_left(site.redis); }), site.brood.log_tail());
  BOOST_TEST(site.ledger.begins() == 1u);
}

BOOST_AUTO_TEST_CASE(a_start_puts_nothing_back_that_is_paused) {
  Site site({.workers = 2, .config = "[crashes]\nquarantine_after = 3\n"});
  site.pause("Ledger");
  site.push(40);
  BOOST_TEST(site.lies_aside(40), site.brood.log_tail());
  for (int start = 0; start < 5; ++start) {
    site.brood.kill9();
    site.brood.start();
    BOOST_REQUIRE(site.brood.wait_ready());
  }
  BOOST_TEST(times_logged(site.brood, "quarantined_jobs_released") == 0u, site.brood.log_tail());
  BOOST_TEST(site.lies_aside(40), site.brood.log_tail());
}

// One queue of another type blocks no other.
BOOST_AUTO_TEST_CASE(a_queue_that_takes_no_job_back_keeps_its_own_alone) {
  Site site({.workers = 1, .queues = {"default", "odd"}});
  site.pause("Ledger");
  site.push(3);
  enqueue(site.redis, {payload_text("Ledger", "[\"" + site.ledger.path() + "\",\"3\",0]", 77)}, "odd");
  BOOST_TEST(eventually([&] { return site.redis.size_of(laid_aside) == 4; }), site.brood.log_tail());
  site.redis.command({"SET", "queue:odd", "no list"});
  const CommandResult goes_on = site.command({"classes", "unpause", "Ledger"});
  BOOST_TEST(goes_on.status == 75);
  BOOST_TEST(goes_on.errors.find("WRONGTYPE queue:odd") != std::string::npos, goes_on.errors);
  BOOST_TEST(eventually([&] { return site.ledger.has_done(3); }), site.brood.log_tail());
  BOOST_TEST(site.redis.size_of(laid_aside) == 1u);
}

BOOST_AUTO_TEST_CASE(kills_while_jobs_are_set_aside_lose_nothing_and_charge_no_job) {
  Site site({.workers = 3});
  site.pause("Ledger");
  for (int round = 0; round < 8; ++round) {
    site.push(150);
    const std::vector<pid_t> workers = site.brood.workers();
    if (!workers.empty()) kill(workers[static_cast<std::size_t>(round) % workers.size()], SIGKILL);
  }
  BOOST_TEST(site.lies_aside(static_cast<std::size_t>(site.pushed)), site.brood.log_tail());
  BOOST_TEST(site.redis.size_of("retry") == 0u);
  BOOST_TEST(site.ledger.begins() == 0u);
  site.command({"classes", "unpause", "Ledger"});
  site.check_all_ran();
}

BOOST_AUTO_TEST_CASE(a_class_needs_a_name_and_one_that_was_not_paused_goes_on) {
  Site site;
  BOOST_TEST(site.command({"classes", "pause"}).status == 64);
  BOOST_TEST(site.command({"classes", "unpause", "Nobody"}).output == "Nobody: goes on; 0 jobs put back\n");
  BOOST_TEST(site.command({"classes"}).output == "No job has run on this machine, and no class is paused.\n");
}

// The supervisor may be killed meanwhile: any supervisor that runs at the end unpauses the class.
BOOST_AUTO_TEST_CASE(a_pause_with_an_end_ends_by_itself_and_brings_back_each_job_once) {
  Site site({.workers = 2});
  site.pause("Ledger", {"--reason", "the ERP is down", "--until", "8s"});
  site.push(100);
  BOOST_TEST(site.lies_aside(100), site.brood.log_tail());
  enqueue(site.redis, {payload_text("Sleep", "[0]", 1'000)});
  BOOST_TEST(eventually([&] { return times_logged(site.brood, "job_done") == 1; }), site.brood.log_tail());

  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"classes"}, {"classes", "--json"}, {"status"}, {"status", "--json"}}) {
    const CommandResult shown = site.command(words);
    BOOST_TEST(shown.output.find("the ERP is down") != std::string::npos, shown.output);
  }
  const std::string metrics = site.command({"status", "--format", "prometheus"}).output;
  BOOST_TEST(metrics.find("brood_class_pause_ends_seconds{class=\"Ledger\"}") != std::string::npos, metrics);
  const std::string waiting = site.redis.zrange(laid_aside).front().first;
  const std::string jid = JsonObject::parse(waiting).string("jid").value();
  const CommandResult shown = site.command({"show", jid});
  BOOST_TEST(shown.output.find("for its class, which is paused until") != std::string::npos, shown.output);
  BOOST_TEST(site.command({"show", jid, "--json"}).output.find(R"("pause_reason":"the ERP is down")") !=
             std::string::npos);
  BOOST_TEST(times_logged(site.brood, "class_paused") == 1u);

  site.brood.kill9();
  site.brood.start();
  BOOST_REQUIRE(site.brood.wait_ready());
  site.push(20);
  site.check_all_ran();
  BOOST_TEST(site.redis.size_of("brood:paused_classes") == 0u);
  BOOST_TEST(site.redis.size_of("brood:class_pauses") == 0u);
  BOOST_TEST(times_logged(site.brood, "class_pause_ended") == 1u, site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_pause_gets_another_end_while_it_lasts) {
  Site site({.workers = 1});
  site.pause("Ledger", {"--until", "1h"});
  site.push(3);
  BOOST_TEST(site.lies_aside(3), site.brood.log_tail());
  BOOST_TEST(site.command({"classes", "pause", "Ledger", "--until", "1s"}).status == 0);
  site.check_all_ran();
}

BOOST_AUTO_TEST_CASE(what_is_no_duration_or_too_long_a_reason_pauses_nothing) {
  Site site;
  for (const char* const wrong : {"soon", "0", "-5s", "400d"})
    BOOST_TEST(site.command({"classes", "pause", "A", std::string("--until=") + wrong}).status == 64, wrong);
  BOOST_TEST(site.command({"classes", "pause", "A", "--reason", std::string(501, 'x')}).status == 64);
  BOOST_TEST(site.command({"classes", "list", "--until", "1h"}).status == 64);
  BOOST_TEST(site.redis.size_of("brood:paused_classes") == 0u);
}

BOOST_AUTO_TEST_CASE(hostile_pauses_end_no_pause_and_break_nothing) {
  Site site({.workers = 1});
  site.redis.command({"HSET", "brood:class_pauses", "Ledger", "x y\n\xff", "Other", "1 1 x"});
  site.redis.command({"SADD", "brood:paused_classes", "Ledger"});
  BOOST_TEST(eventually([&] { return times_logged(site.brood, "classes_paused") == 1; }), site.brood.log_tail());
  BOOST_TEST(eventually([&] { return site.redis.size_of("brood:class_pauses") == 1; }), site.brood.log_tail());
  site.push(3);
  BOOST_TEST(site.lies_aside(3), site.brood.log_tail());
  BOOST_TEST(site.command({"classes"}).status == 0);
  site.command({"classes", "unpause", "Ledger"});
  site.check_all_ran();
}
