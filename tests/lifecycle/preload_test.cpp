#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string library = BROOD_BINARY_DIR "/tests/job_libraries/libpreload_jobs.so";
const std::string examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

// A brood whose library loads a table at preload.
struct Preloading {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string ledger = directory / "ledger";
  std::optional<BroodProcess> brood;

  explicit Preloading(BroodOptions options = {}) {
    if (options.libraries.empty()) options.libraries = {library};
    options.environment["PRELOAD_LEDGER"] = ledger;
    std::ofstream{ledger};
    brood.emplace(redis, options);
  }

  struct Line {
    std::string what;
    pid_t pid;
  };
  std::vector<Line> lines() const {
    std::vector<Line> lines;
    std::ifstream file(ledger);
    for (std::string line; std::getline(file, line);) {
      const std::size_t space = line.rfind(' ');
      lines.push_back({line.substr(0, space), std::stoi(line.substr(space + 1))});
    }
    return lines;
  }
  std::vector<pid_t> who(const std::string& what) const {
    std::vector<pid_t> pids;
    for (const Line& line : lines()) {
      if (line.what.starts_with(what)) pids.push_back(line.pid);
    }
    return pids;
  }
  std::set<pid_t> workers() const {
    const std::vector<pid_t> now = brood->workers();
    return {now.begin(), now.end()};
  }
  void ready() const { BOOST_REQUIRE_MESSAGE(brood->wait_ready(), brood->log_tail()); }
  // The pids of its templates.
  std::vector<pid_t> templates() const {
    std::vector<pid_t> found;
    for (const pid_t child : children_of(brood->pid())) {
      std::ifstream file("/proc/" + std::to_string(child) + "/cmdline");
      std::string title;
      std::getline(file, title, '\0');
      if (title == "brood: template") found.push_back(child);
    }
    return found;
  }
  bool logs(const std::string& text, std::chrono::milliseconds timeout = 20s) const {
    const bool logged = eventually([&] { return brood->log().find(text) != std::string::npos; }, timeout);
    BOOST_TEST(logged, "no " << text << " in\n" << brood->log_tail());
    return logged;
  }
  void run(const std::string& job_class, int times = 1, const std::string& args = "[]") {
    for (int i = 0; i < times; ++i) enqueue(redis, {payload_text(job_class, args)});
  }
  void done(const std::string& what, int times) const {
    BOOST_TEST(eventually([&] { return static_cast<int>(who(what).size()) >= times; }, 30s), what << " was not seen "
                                                                                                  << times << " times\n"
                                                                                                  << brood->log_tail());
  }
  void stops() {
    brood->term();
    BOOST_TEST(brood->wait_exit().value_or(-1) == 0);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_handler_of_preload_loads_is_loaded_once_for_all_workers) {
  Preloading preloading({.workers = 3});
  preloading.ready();
  const std::set<pid_t> workers = preloading.workers();
  BOOST_TEST(workers.size() == 3u);
  const std::vector<pid_t> loader = preloading.who("preloaded");
  BOOST_REQUIRE(loader.size() == 1u);
  // A worker that was just forked has the template's title for a moment.
  BOOST_TEST(eventually([&] { return preloading.templates() == loader; }, 20s));
  preloading.done("forked", 3);
  const std::vector<pid_t> forked = preloading.who("forked");
  BOOST_TEST((std::set<pid_t>(forked.begin(), forked.end()) == workers));

  preloading.run("Looked", 20);
  preloading.done("looked", 20);
  preloading.stops();
  BOOST_TEST(eventually([&] { return !process_exists(loader.front()); }));
}

BOOST_AUTO_TEST_CASE(a_library_without_such_a_handler_is_loaded_by_each_worker_unless_all_are_to_be_preloaded) {
  {
    Preloading plain({.libraries = {examples}});
    plain.ready();
    BOOST_TEST(eventually([&] { return plain.templates().empty(); }));  // a template with nothing to do ends
  }
  Preloading always({.libraries = {examples}, .config = "[worker]\npreload = true\n"});
  always.ready();
  BOOST_TEST(always.templates().size() == 1u);
}

BOOST_AUTO_TEST_CASE(preload_false_runs_the_handlers_in_each_worker) {
  Preloading preloading({.workers = 2, .config = "[worker]\npreload = false\n"});
  preloading.ready();
  BOOST_TEST(preloading.templates().empty());
  preloading.done("preloaded", 2);
  const std::vector<pid_t> loaders = preloading.who("preloaded");
  BOOST_TEST((std::set<pid_t>(loaders.begin(), loaders.end()) == preloading.workers()));
  preloading.run("Looked");
  preloading.done("looked", 1);
}

BOOST_AUTO_TEST_CASE(what_copies_would_share_is_named_and_each_worker_loads_for_itself) {
  const std::map<std::string, std::string> said{
      {"thread", "a thread named"}, {"socket", "a socket (descriptor"},          {"pipe", "a pipe (descriptor"},
      {"timerfd", "timerfd"},       {"alarm", "an interval timer, or an alarm"}, {"timer", "a timer"},
      {"lock", "a lock of a file"}, {"child", "a process that they started"}};
  for (const auto& [left, phrase] : said) {
    BOOST_TEST_CONTEXT(left) {
      Preloading preloading({.workers = 2, .environment = {{"PRELOAD_LEAVES", left}}});
      preloading.ready();
      preloading.logs("event=template_not_used");
      preloading.logs(phrase);
      preloading.done("preloaded", 3);  // by the template, and by each worker
      BOOST_TEST(eventually([&] { return preloading.templates().empty(); }, 10s));
      preloading.run("Looked");
      preloading.done("looked", 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_open_file_is_no_obstacle) {
  Preloading preloading({.workers = 2, .environment = {{"PRELOAD_LEAVES", "file"}}});
  preloading.ready();
  BOOST_TEST(preloading.who("preloaded").size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_crashed_worker_is_replaced_by_another_copy) {
  Preloading preloading({.workers = 2});
  preloading.ready();
  const std::set<pid_t> before = preloading.workers();
  preloading.run("Crashed");
  preloading.logs("event=worker_crashed");
  BOOST_TEST(eventually([&] { return preloading.workers().size() == 2 && preloading.workers() != before; }, 20s));
  preloading.run("Looked", 4);
  preloading.done("looked", 4);
  BOOST_TEST(preloading.who("preloaded").size() == 1u);
  BOOST_TEST(eventually([&] { return preloading.redis.size_of("retry") == 1; }));
}

BOOST_AUTO_TEST_CASE(a_crash_names_the_classes_that_ran_before_in_its_worker) {
  Preloading preloading({.workers = 1});
  preloading.ready();
  preloading.run("Looked", 3);
  preloading.done("looked", 3);
  preloading.run("Slept", 1, "[0]");
  preloading.done("slept", 1);
  preloading.run("Crashed");
  preloading.logs("ran_before=\"Slept 1 run before, Looked 2\"");
  BOOST_REQUIRE(eventually([&] { return preloading.redis.size_of("retry") == 1; }));
  const std::string retried = preloading.redis.zrange("retry").at(0).first;
  BOOST_TEST(retried.find(R"("ran_before":{"Slept":1,"Looked":2})") != std::string::npos, retried);
}

BOOST_AUTO_TEST_CASE(a_template_that_dies_is_made_again_and_the_workers_go_on) {
  Preloading preloading({.workers = 2});
  preloading.ready();
  BOOST_REQUIRE(preloading.logs("event=ready "));  // both are known now: one may be just forked
  BOOST_TEST(eventually([&] { return preloading.workers().size() == 2; }));  // another child may still be there
  const std::set<pid_t> before = preloading.workers();
  const pid_t first = preloading.templates().at(0);
  kill(first, SIGKILL);
  preloading.logs("event=template_failed");
  preloading.run("Looked", 4);
  preloading.done("looked", 4);
  BOOST_TEST(eventually([&] { return preloading.workers() == before; }));  // a look during an exit may miss some

  // A missing worker then loads the libraries itself, and later workers are forked from a new template.
  BOOST_TEST(eventually(
      [&] {
        const std::set<pid_t> now = preloading.workers();
        if (!now.empty()) kill(*now.begin(), SIGKILL);
        return !preloading.templates().empty();
      },
      20s));
  BOOST_TEST(preloading.templates().at(0) != first);
  preloading.run("Looked", 4);
  preloading.done("looked", 8);
  preloading.stops();
}

BOOST_AUTO_TEST_CASE(a_template_that_dies_comes_back_before_a_worker_needs_it) {
  Preloading preloading({.workers = 2});
  preloading.ready();
  BOOST_REQUIRE(preloading.logs("event=ready "));
  BOOST_TEST(eventually([&] { return preloading.workers().size() == 2; }));
  const std::set<pid_t> before = preloading.workers();
  // Kills the second one too: then it rests for a second.
  for (const std::size_t loads : {2U, 3U}) {
    kill(preloading.who("preloaded").back(), SIGKILL);
    preloading.done("preloaded", static_cast<int>(loads));
    BOOST_TEST(eventually([&] { return preloading.templates() == std::vector{preloading.who("preloaded").back()}; }));
  }
  BOOST_TEST(eventually([&] { return preloading.workers() == before; }));

  // A worker that is missing then is replaced by a copy.
  kill(*before.begin(), SIGKILL);
  BOOST_TEST(eventually([&] { return preloading.workers().size() == 2 && preloading.workers() != before; }, 20s));
  BOOST_TEST(preloading.who("preloaded").size() == 3u);
  preloading.stops();
}

BOOST_AUTO_TEST_CASE(a_template_that_hangs_is_waited_for_ten_seconds_and_the_other_workers_go_on) {
  Preloading preloading({.workers = 2});
  preloading.ready();
  BOOST_REQUIRE(preloading.logs("event=ready "));  // both are known now: one may be just forked
  const pid_t first = preloading.templates().at(0);
  kill(first, SIGSTOP);
  kill(*preloading.workers().begin(), SIGKILL);
  preloading.run("Looked", 4);
  preloading.done("looked", 4);
  preloading.logs("event=template_failed generation=1 reason=\"it did not answer\"", 30s);
  BOOST_TEST(eventually([&] { return preloading.workers().size() == 2; }, 20s));
  BOOST_TEST(eventually([&] { return !process_exists(first); }));
  preloading.stops();
}

BOOST_AUTO_TEST_CASE(a_capsule_may_load_for_itself) {
  Preloading preloading(
      {.workers = 2,
       .sets_workers = false,
       .config = "concurrency = 1\n[capsules.own]\nconcurrency = 1\nqueues = [\"own\"]\npreload = false\n"});
  preloading.ready();
  preloading.done("preloaded", 2);
  BOOST_TEST(preloading.templates().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_capsule_of_one_worker_performs_in_order_though_its_workers_are_killed) {
  Preloading preloading({.workers = 1});
  preloading.ready();
  for (int round = 0; round < 5; ++round) {
    preloading.run("Slept", 1, "[200]");
    preloading.done("slept", round + 1);
    kill(preloading.who("slept").back(), SIGKILL);
    BOOST_TEST(eventually([&] { return !process_exists(preloading.who("slept").back()); }));
  }
  preloading.run("Looked", 3);
  preloading.done("looked", 3);
  BOOST_TEST(preloading.who("preloaded").size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_rolling_restart_makes_a_new_template_and_ends_the_old_one) {
  Preloading preloading({.workers = 3});
  preloading.ready();
  const pid_t first = preloading.templates().at(0);
  const CommandResult restart = run_brood({"restart"}, preloading.brood->environment());
  BOOST_TEST(restart.status == 0, restart.output + restart.errors);
  BOOST_TEST(eventually([&] { return !process_exists(first); }, 10s));
  BOOST_TEST(preloading.templates().size() == 1u);
  BOOST_TEST(preloading.who("preloaded").size() == 2u);
  preloading.run("Looked", 4);
  preloading.done("looked", 4);
  preloading.stops();
}

BOOST_AUTO_TEST_CASE(a_handler_that_fails_in_the_template_is_tried_by_each_worker) {
  for (const std::string fault : {"throws", "crashes", "exits"}) {
    BOOST_TEST_CONTEXT(fault) {
      TemporaryDirectory directory;
      const std::string once = directory / "once";
      std::ofstream{once};
      Preloading preloading({.workers = 2, .environment = {{"PRELOAD_FAULT", fault}, {"PRELOAD_FAULT_ONCE", once}}});
      preloading.ready();
      preloading.logs("event=template_failed");
      if (fault == "throws") preloading.logs("a handler of preload threw std::domain_error: no table here");
      preloading.run("Looked", 2);
      preloading.done("looked", 2);
      preloading.stops();
    }
  }
}

BOOST_AUTO_TEST_CASE(a_handler_that_hangs_is_ended_at_boot_timeout) {
  TemporaryDirectory directory;
  const std::string once = directory / "once";
  std::ofstream{once};
  Preloading preloading({.workers = 2,
                         .config = "boot_timeout = \"2s\"\n",
                         .environment = {{"PRELOAD_FAULT", "hangs"}, {"PRELOAD_FAULT_ONCE", once}}});
  preloading.ready();
  preloading.logs("it was not ready within boot_timeout");
  preloading.stops();
}

BOOST_AUTO_TEST_CASE(copies_do_not_draw_the_same_random_numbers) {
  Preloading preloading({.workers = 2});
  preloading.ready();
  std::map<pid_t, std::string> drawn;
  BOOST_TEST(eventually(
      [&] {
        if (preloading.redis.size_of("queue:default") == 0) preloading.run("Rolled", 4);
        for (const auto& line : preloading.lines()) {
          if (line.what.starts_with("rolled")) drawn.emplace(line.pid, line.what);
        }
        return drawn.size() == 2;
      },
      30s));
  BOOST_TEST(drawn.begin()->second != std::next(drawn.begin())->second);
}

BOOST_AUTO_TEST_CASE(no_process_outlives_a_killed_supervisor) {
  Preloading preloading({.workers = 3});
  preloading.ready();
  std::vector<pid_t> all = preloading.templates();
  for (const pid_t worker : preloading.workers()) all.push_back(worker);
  preloading.brood->kill9();
  for (const pid_t one : all) BOOST_TEST(eventually([&] { return !process_exists(one); }, 20s));
}

BOOST_AUTO_TEST_CASE(an_upgrade_in_place_loses_no_worker_that_is_busy) {
  Preloading preloading({.workers = 2});
  preloading.ready();
  preloading.run("Slept", 1, "[3000]");
  preloading.done("slept", 1);
  const pid_t busy = preloading.who("slept").front();
  const pid_t loader = preloading.templates().at(0);
  const CommandResult upgrade = run_brood({"upgrade"}, preloading.brood->environment());
  BOOST_TEST(upgrade.status == 0, upgrade.output + upgrade.errors);
  // The kept template served until the new program had workers, with a template of their own.
  BOOST_TEST(preloading.who("preloaded").size() == 2u);
  BOOST_TEST(eventually([&] { return !process_exists(loader); }, 20s));
  BOOST_TEST(preloading.templates().size() == 1u);
  preloading.run("Looked", 4);
  preloading.done("looked", 4);
  BOOST_TEST(eventually([&] { return !process_exists(busy); }, 20s));
  BOOST_TEST(preloading.redis.size_of("retry") == 0u);
  preloading.stops();
}
