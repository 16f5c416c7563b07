// After an upgrade that fails, the old program and its workers go on.
#include "tests/lifecycle/installed_brood.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "shared/scoreboard/scoreboard.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"

using namespace brood;
using namespace brood::upgrade_tests;
using namespace std::chrono_literals;

namespace {

std::string scoreboard_file_of(const BroodProcess& brood) {
  for (const auto& entry : std::filesystem::directory_iterator(brood.home() / "run")) {
    if (entry.path().extension() == ".scoreboard") return entry.path();
  }
  return "";
}

}  // namespace

// A supervisor that has no descriptor left at the last step.
BOOST_AUTO_TEST_CASE(an_upgrade_that_cannot_be_handed_over_now_leaves_the_supervisor_as_it_was) {
  Installed site;
  const pid_t pid = site.brood->pid();
  const std::string looks = site.directory / "looks", go = site.directory / "go", real = site.directory / "real";
  std::filesystem::copy_file(built, real);
  site.install_text("#!/bin/sh\n: >" + looks + "\nwhile [ ! -e " + go + " ]; do sleep 0.05; done\nexec " + real +
                    " \"$@\"\n");
  auto answer = std::async(std::launch::async, [&] { return site.command({"upgrade"}); });
  BOOST_REQUIRE(eventually([&] { return std::filesystem::exists(looks); }, 20s));
  rlimit before{};
  BOOST_REQUIRE(prlimit(pid, RLIMIT_NOFILE, nullptr, &before) == 0);
  const rlimit none{3, before.rlim_max};
  BOOST_REQUIRE(prlimit(pid, RLIMIT_NOFILE, &none, nullptr) == 0);
  std::ofstream{go};

  BOOST_TEST(site.logs("event=upgrade_ended"), site.brood->log_tail());

  BOOST_TEST(prlimit(pid, RLIMIT_NOFILE, &before, nullptr) == 0);
  BOOST_TEST(contains(site.brood->log(), "outcome=not_now"), site.brood->log_tail());
  const CommandResult result = answer.get();
  BOOST_TEST(result.status != 0, result.output);
  site.run_jobs(0, 20);
  BOOST_TEST(site.done(20), site.brood->log_tail());
  BOOST_TEST(!site.brood->wait_exit(10ms).has_value());
}

BOOST_AUTO_TEST_CASE(a_program_that_cannot_take_over_is_found_out_and_changes_nothing) {
  Installed site;
  const std::vector<pid_t> before = site.brood->workers();
  const auto refused = [&](const std::string& why) {
    const CommandResult result = site.command({"upgrade"});
    BOOST_TEST(result.status == 78, result.errors);
    BOOST_TEST(contains(result.errors, why), result.errors);
    BOOST_TEST((site.brood->workers() == before));
  };
  site.install_text("#!/bin/sh\necho 'this machine is too old' >&2\nexit 1\n");
  refused("this machine is too old");
  site.install_text("no program at all");
  refused("cannot be executed");
  site.install_text("#!/bin/sh\nkill -SEGV $$\n");
  refused("killed by SIGSEGV");
  std::filesystem::remove(site.program);
  refused("cannot be executed");

  site.run_jobs(0, 5);
  BOOST_TEST(site.done(5));
  site.install();
  BOOST_TEST(site.command({"upgrade"}).status == 0);
}

BOOST_AUTO_TEST_CASE(a_configuration_that_the_new_program_refuses_changes_nothing) {
  Installed site;
  const std::vector<pid_t> before = site.brood->workers();
  std::ofstream(site.brood->home() / "brood.toml") << "concurency = 3\n";
  const CommandResult result = site.command({"upgrade"});
  BOOST_TEST(result.status == 78);
  BOOST_TEST(contains(result.errors, "did you mean"), result.errors);
  BOOST_TEST((site.brood->workers() == before));
}

BOOST_AUTO_TEST_CASE(a_program_that_fails_in_the_last_moment_leaves_the_old_one_in_charge) {
  Installed site;
  // It passes the check, and is gone when it is to be executed.
  site.install_text("#!/bin/sh\nrm -- \"$0\"\nexit 0\n");
  const CommandResult result = site.command({"upgrade"});
  BOOST_TEST(result.status == 78, result.errors);
  BOOST_TEST(contains(result.errors, "cannot be executed"), result.errors);
  site.run_jobs(0, 5);
  BOOST_TEST(site.done(5));
  site.install();
  BOOST_TEST(site.command({"upgrade"}).status == 0, site.brood->log_tail());
  BOOST_TEST(site.fetches(2));
}

// A program that would end in the supervisor's place also ends in the rehearsal, since it gets the very same words.
BOOST_AUTO_TEST_CASE(a_program_that_passes_a_check_and_then_ends_is_found_out_and_changes_nothing) {
  Installed site;
  const std::string go = site.directory / "go";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began"));
  const pid_t pid = site.brood->pid();
  const std::vector<pid_t> before = site.brood->workers();
  for (const std::string then : {"exit 78", "exit 0", "kill -SEGV $$", "exec sleep 0"}) {
    for (const std::string& check : {std::string("exit 0"), "exec " + std::string(built) + " \"$@\""}) {
      site.install_text("#!/bin/sh\ncase \"$*\" in *--check*) " + check + " ;; esac\n" + then + "\n");
      const CommandResult result = site.command({"upgrade"});
      BOOST_TEST(result.status == 78, then << ": " << result.errors);
      BOOST_TEST(process_exists(pid));
      BOOST_TEST((site.brood->workers() == before));
    }
  }
  std::ofstream(go) << "x";
  BOOST_TEST(site.writes("ended"));
  site.run_jobs(0, 5);
  BOOST_TEST(site.done(5));
  site.install();
  BOOST_TEST(site.command({"upgrade"}).status == 0, site.brood->log_tail());
}

BOOST_AUTO_TEST_CASE(a_program_that_fails_in_the_place_of_the_supervisor_gives_it_back) {
  Installed site;
  const std::string go = site.directory / "go", fails = fails_in_takeover;
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began"));
  const pid_t pid = site.brood->pid();
  const std::vector<pid_t> before = site.brood->workers();
  const struct {
    std::string how, why;
  } failures[] = {{"exec $real \"$@\" --no-such-option", "no-such-option"},
                  {"exec $real \"$@\" --startup", "--startup needs --check"},
                  {"exec $real \"$@\" --redis redis://elsewhere", "the address of Redis cannot change"},
                  {"export " + fails + "throws", "Too many open files"},
                  {"export " + fails + "segfaults", "SIGSEGV"},
                  {"export " + fails + "overflows", "SIGSEGV"},
                  {"export " + fails + "aborts", "SIGABRT"}};
  for (const auto& [how, why] : failures) {
    site.install_with(how);
    const CommandResult result = site.command({"upgrade"});
    BOOST_TEST(result.status == 78, how << ": " << result.errors << site.brood->log_tail());
    BOOST_TEST(contains(result.errors, why), how << ": " << result.errors);
    BOOST_TEST_REQUIRE(process_exists(pid));
    BOOST_TEST((site.brood->workers() == before));
  }
  BOOST_TEST(times_logged(*site.brood, "restart_begins") == 0U);
  site.run_jobs(0, 20);
  BOOST_TEST(site.done(20));
  std::ofstream(go) << "x";
  BOOST_TEST(site.writes("ended"));
  site.install();
  BOOST_TEST(site.command({"upgrade"}).status == 0, site.brood->log_tail());
  BOOST_TEST(site.fetches(2));
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST(site.written().find("began") == site.written().rfind("began"));
  BOOST_TEST(site.redis.size_of("retry") == 0U);
  BOOST_TEST(Connection(site.redis.address()).call({"GET", "stat:processed"}).view().integer() == 21);
}

// Neither program can begin without a runtime directory.
BOOST_AUTO_TEST_CASE(workers_run_on_while_no_program_can_take_over) {
  Installed site;
  const std::string go = site.directory / "go", run = site.brood->home() / "run", gone = site.directory / "gone";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began"));
  const pid_t pid = site.brood->pid();
  const std::vector<pid_t> before = site.brood->workers();
  site.install_with("mv " + run + " " + gone + "; touch " + run);

  site.brood->signal(SIGUSR2);

  BOOST_REQUIRE(site.logs("cannot create director"));
  site.run_jobs(0, 5);
  BOOST_TEST(site.done(5));
  BOOST_TEST((site.brood->workers() == before));
  std::filesystem::remove(run);
  std::filesystem::rename(gone, run);
  BOOST_TEST(site.logs("event=workers_adopted"));
  BOOST_TEST(process_exists(pid));
  site.run_jobs(5, 10);
  BOOST_TEST(site.done(10));
  std::ofstream(go) << "x";
  BOOST_TEST(site.writes("ended"));
  BOOST_TEST((site.brood->workers() == before));
  BOOST_TEST(site.command({"status", "--redis", site.redis.url()}).status == 0);

  // And a stop is heard meanwhile.
  const std::string complaint = "brood run: filesystem error";
  const auto complaints = [&] {
    const std::string log = site.brood->log();
    int times = 0;
    for (std::size_t at = log.find(complaint); at != std::string::npos; at = log.find(complaint, at + 1)) ++times;
    return times;
  };
  const int before_this = complaints();
  site.brood->signal(SIGUSR2);
  BOOST_REQUIRE(eventually([&] { return complaints() > before_this; }, 30s));
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST(site.redis.size_of("queue:default") == 0U);
}

// For example another version's scoreboard.  It does not show what its workers do, so they may finish, and nothing runs
// twice.
BOOST_AUTO_TEST_CASE(workers_whose_records_cannot_be_read_finish_and_are_replaced) {
  Installed site;
  const std::string go = site.directory / "go";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began"));
  const std::vector<pid_t> before = site.brood->workers();
  const std::string board = scoreboard_file_of(*site.brood);
  const int file = open(board.c_str(), O_WRONLY);
  // The supervisor repairs what a job might have written there, so this goes on until the next program has seen it.
  std::atomic<bool> seen = false;
  std::thread other_version([&] {
    const std::uint32_t version = 0xffff;
    while (!seen && pwrite(file, &version, sizeof version, offsetof(Scoreboard::Header, version)) ==
                        static_cast<ssize_t>(sizeof version))
      std::this_thread::sleep_for(100us);
  });

  site.brood->signal(SIGUSR2);

  const bool replaced = site.logs("event=workers_replaced workers=2");
  seen = true;
  other_version.join();
  close(file);
  BOOST_REQUIRE_MESSAGE(replaced, site.brood->log());
  BOOST_TEST(site.fetches(2));
  site.run_jobs(0, 10);
  BOOST_TEST(site.done(10), site.brood->log_tail());
  BOOST_TEST(!contains(site.written(), "ended"));
  std::ofstream(go) << "x";
  BOOST_TEST(site.writes("ended"));
  for (const pid_t worker : before) BOOST_TEST(eventually([&] { return !process_exists(worker); }));
  BOOST_TEST(site.written().find("began") == site.written().rfind("began"));
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST(site.redis.size_of("queue:default") == 0U);
}
