#include "tests/lifecycle/installed_brood.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/redis/connection.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/fleet_view.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace brood::upgrade_tests;
using namespace std::chrono_literals;

namespace {

// The process of the page, and its file; 0: none is there at the moment.
struct PageProcess {
  pid_t pid = 0;
  std::string file = {};
};
PageProcess page_of(const BroodProcess& brood) {
  for (const pid_t child : children_of(brood.pid())) {
    std::error_code gone;
    const std::string file = std::filesystem::read_symlink("/proc/" + std::to_string(child) + "/exe", gone);
    if (contains(file, "/brood-web")) return {child, file};
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_new_program_takes_over_the_process_and_its_workers) {
  Installed site;
  const pid_t pid = site.brood->pid();
  const std::vector<pid_t> before = site.brood->workers();
  const std::string executed = "/proc/" + std::to_string(pid) + "/exe";
  site.install();
  BOOST_REQUIRE(file_of(executed) != file_of(site.program));

  const CommandResult result = site.command({"upgrade"});

  BOOST_TEST(result.status == 0, result.errors << site.brood->log_tail());
  BOOST_TEST(contains(result.output, "upgraded: 2 workers of generation 2"), result.output);
  BOOST_TEST(process_exists(pid));
  BOOST_TEST(file_of(executed) == file_of(site.program));
  BOOST_TEST(contains(site.brood->log(), "event=workers_adopted workers=2 ready=2"));
  for (const pid_t worker : before) BOOST_TEST(eventually([&] { return !process_exists(worker); }));
  BOOST_TEST(site.fetches(2));
  site.run_jobs(0, 20);
  BOOST_TEST(site.done(20));
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_long_job_runs_through_many_of_them_and_as_many_restarts_and_a_signal_is_enough) {
  Installed site;
  constexpr std::size_t times = 5;
  const std::string go = site.directory / "go";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began"));
  for (std::size_t round = 1; round <= 2 * times; ++round) {
    site.brood->signal(round % 2 == 0 ? SIGUSR2 : SIGHUP);
    BOOST_TEST_REQUIRE(site.upgrades(round), site.brood->log_tail());
  }
  BOOST_TEST(times_logged(*site.brood, "supervisor_took_over") == times);
  BOOST_TEST(!contains(site.written(), "ended"));
  std::ofstream(go) << "x";
  BOOST_TEST(site.writes("ended"));
  BOOST_TEST(eventually([&] { return site.brood->workers().size() == 2; }));
  BOOST_TEST(site.written().find("began") == site.written().rfind("began"));
  BOOST_TEST(site.redis.size_of("retry") == 0U);
}

// A script may have started the program, and its shell has cleared the signal mask.
BOOST_AUTO_TEST_CASE(a_stop_is_heard_before_the_new_program_has_its_loop) {
  Installed site;
  site.install_with("/bin/true\nexport " + fails_in_takeover + "waits");
  site.brood->signal(SIGUSR2);
  BOOST_REQUIRE(site.logs("the takeover waits"));
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0, site.brood->log_tail());
  BOOST_TEST(site.logs("signal=SIGTERM"), site.brood->log_tail());
}

// A package may have installed another version's page, and an upgrade may have been taken back.
BOOST_AUTO_TEST_CASE(a_supervisor_keeps_the_page_of_its_own_version) {
  const TemporaryDirectory place;
  Installed site(1, "[web]\nlisten = \"unix:" + (place / "web.sock") + "\"\n");
  const std::string file = site.directory / "brood-web", other = site.directory / "other";
  BOOST_REQUIRE(eventually([&] { return page_of(*site.brood).file == file; }, 30s));
  std::ofstream(file + ".new") << "#!/bin/sh\n: > " << other << "\nexec sleep 1000\n";
  chmod((file + ".new").c_str(), 0755);
  std::filesystem::rename(file + ".new", file);
  const auto comes_back = [&](pid_t before) {
    return eventually(
        [&] {
          const PageProcess now = page_of(*site.brood);
          return now.pid != before && now.file == file + " (deleted)";
        },
        30s);
  };
  const auto kill_page = [&] {
    const pid_t pid = page_of(*site.brood).pid;
    BOOST_REQUIRE(pid > 0);
    kill(pid, SIGKILL);
    return pid;
  };

  BOOST_TEST(comes_back(kill_page()), site.brood->log_tail());

  site.install_with("exec $real \"$@\" --no-such-option");
  BOOST_TEST(site.command({"upgrade"}).status == 78, site.brood->log_tail());
  BOOST_TEST(comes_back(0), site.brood->log_tail());
  BOOST_TEST(comes_back(kill_page()), site.brood->log_tail());
  BOOST_TEST(!std::filesystem::exists(other));

  site.install();
  BOOST_TEST(site.command({"upgrade"}).status == 0, site.brood->log_tail());
  BOOST_TEST(eventually([&] { return std::filesystem::exists(other); }, 30s), site.brood->log_tail());
}

BOOST_AUTO_TEST_CASE(a_configuration_that_is_changed_after_the_rehearsal_has_its_turn_at_the_next_restart) {
  Installed site;
  const std::string config = site.brood->home() / "brood.toml";
  site.install_with("echo 'concurency = 3' > " + config);
  const CommandResult result = site.command({"upgrade"});
  BOOST_TEST(result.status == 0, result.errors << site.brood->log_tail());
  BOOST_TEST(contains(result.output, "2 workers of generation 2"), result.output);
  site.run_jobs(0, 5);
  BOOST_TEST(site.done(5));
  const CommandResult restart = site.command({"restart"});
  BOOST_TEST(restart.status == 78);
  BOOST_TEST(contains(restart.errors, "did you mean"), restart.errors);
}

BOOST_AUTO_TEST_CASE(a_log_that_cannot_be_opened_any_more_is_written_on) {
  TemporaryDirectory logs;
  std::filesystem::create_directory(logs / "here");
  Installed site(2, "[log]\nfile = \"" + (logs / "here/log") + "\"\nlog_jobs = true\n");
  site.install_with("mv " + (logs / "here") + " " + (logs / "there") + "; touch " + (logs / "here"));
  const CommandResult result = site.command({"upgrade"});
  BOOST_TEST(process_exists(site.brood->pid()));
  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(contains(text_of_file(logs / "there/log"), "event=log_not_opened"));
  site.run_jobs(0, 5);
  BOOST_TEST(site.done(5));
}

BOOST_AUTO_TEST_CASE(nothing_is_counted_twice_or_forgotten) {
  Installed site;
  for (int round = 0; round < 4; ++round) {
    site.run_jobs(25 * round, 25 * (round + 1));
    BOOST_TEST(site.command({"upgrade"}).status == 0, site.brood->log_tail());
  }
  BOOST_TEST(site.done(100));
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST(Connection(site.redis.address()).call({"GET", "stat:processed"}).view().integer() == 100);
}

BOOST_AUTO_TEST_CASE(a_quiet_supervisor_stays_quiet) {
  Installed site;
  BOOST_TEST(site.command({"quiet"}).status == 0);
  site.brood->signal(SIGUSR2);
  BOOST_REQUIRE(site.logs("event=supervisor_took_over"));
  site.run_jobs(0, 1);
  BOOST_TEST(fetching_workers(*site.brood) == 0);
  BOOST_TEST(contains(site.command({"status", "--redis", site.redis.url()}).output, "quiet"));
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST(site.redis.size_of("queue:default") == 1U);
}

BOOST_AUTO_TEST_CASE(a_quiet_right_after_it_only_puts_off_that_the_workers_are_replaced) {
  Installed site;
  const std::vector<pid_t> before = site.brood->workers();
  site.brood->signal(SIGUSR2);
  BOOST_REQUIRE(site.logs("event=supervisor_took_over"));
  BOOST_TEST(site.command({"quiet"}).status == 0);
  BOOST_TEST(site.command({"resume"}).status == 0);
  for (const pid_t worker : before)
    BOOST_TEST(eventually([&] { return !process_exists(worker); }, 60s), site.brood->log_tail());
  site.run_jobs(0, 10);
  BOOST_TEST(site.done(10), site.brood->log_tail());
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(what_a_job_prints_afterwards_is_still_told_to_be_its) {
  Installed site(1);
  const std::string go = site.directory / "go";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began"));
  BOOST_TEST(site.command({"upgrade"}).status == 0);
  std::ofstream(go) << "x";
  BOOST_TEST(site.writes("ended"));
  BOOST_TEST(site.logs("event=job_done"));
}

BOOST_AUTO_TEST_CASE(a_worker_killed_meanwhile_costs_its_job_an_attempt_and_nothing_else) {
  Installed site(3);
  Dice dice;
  site.run_jobs(0, 300);
  for (std::size_t upgrade = 1; upgrade <= 5; ++upgrade) {
    const std::vector<pid_t> workers = site.brood->workers();
    site.brood->signal(SIGUSR2);
    if (!workers.empty())
      kill(workers[static_cast<std::size_t>(dice.roll(0, static_cast<int>(workers.size()) - 1))], SIGKILL);
    BOOST_TEST_REQUIRE(site.upgrades(upgrade), site.brood->log_tail());
  }
  BOOST_TEST(eventually(
                 [&] {
                   make_retries_due(site.redis);
                   return site.ledger.done().size() == 300;
                 },
                 60s),
             site.brood->log_tail());
}

BOOST_AUTO_TEST_CASE(an_upgrade_amid_crash_after_crash_comes_about_and_loses_none) {
  constexpr std::size_t jobs = 60;  // too few for their places to rest
  Installed site(4);
  for (std::size_t job = 0; job < jobs; ++job)
    enqueue(site.redis, {payload_text("Segfault", "[]", static_cast<int>(job) + 1, R"("retry":0)")});
  BOOST_REQUIRE(eventually([&] { return site.redis.size_of("dead") >= 5; }, 20s));

  const CommandResult result = site.command({"upgrade"});

  BOOST_TEST(result.status == 0, result.output << result.errors << site.brood->log_tail());
  BOOST_REQUIRE_MESSAGE(eventually([&] { return site.redis.size_of("dead") == jobs; }, 60s), site.brood->log_tail());
  for (const auto& [text, score] : site.redis.zrange("dead"))
    BOOST_TEST(Payload::parse(text).string("error_class").value_or("") == "SIGSEGV", text);
}

BOOST_AUTO_TEST_CASE(a_crash_that_is_not_recovered_yet_is_handed_over_with_its_stack) {
  Installed site(2);
  const std::string go = site.directory / "go";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began 1"));
  std::istringstream words(site.written());
  std::string began, version;
  pid_t worker = 0;
  BOOST_REQUIRE((words >> began >> version >> worker));
  site.redis.command({"SET", "retry", "no set"});  // its charge is refused
  BOOST_REQUIRE(kill(worker, SIGSEGV) == 0);
  BOOST_REQUIRE(eventually([&] { return !process_exists(worker); }));

  auto upgrade = std::async(std::launch::async, [&] { return site.command({"upgrade"}); });

  BOOST_TEST(site.logs("event=recoveries_taken_over workers=1"), site.brood->log_tail());
  site.redis.command({"DEL", "retry"});
  std::string record;
  const auto is_charged = [&] {
    const auto entries = site.redis.zrange("retry");
    if (!entries.empty()) record = entries.front().first;
    return !entries.empty();
  };
  BOOST_TEST(eventually(is_charged), site.brood->log_tail());
  std::ofstream{go};
  const CommandResult result = upgrade.get();
  BOOST_TEST(result.status == 0, result.output << result.errors << site.brood->log_tail());
  BOOST_REQUIRE(!record.empty());
  const Payload job = Payload::parse(record);
  BOOST_TEST(job.string("error_class").value_or("") == "SIGSEGV");
  const auto stack = decode_backtrace(job.string("error_backtrace").value_or(""));
  BOOST_TEST((stack && !stack->empty()), job.text());
}

BOOST_AUTO_TEST_CASE(no_descriptor_is_left_behind) {
  Installed site;
  const auto descriptors = [&] {
    const std::filesystem::directory_iterator files("/proc/" + std::to_string(site.brood->pid()) + "/fd");
    return std::distance(begin(files), end(files));
  };
  BOOST_TEST(site.command({"upgrade"}).status == 0);
  BOOST_TEST(eventually([&] { return site.brood->workers().size() == 2; }));
  const auto after_one = descriptors();
  for (int upgrade = 0; upgrade < 3; ++upgrade) BOOST_TEST(site.command({"upgrade"}).status == 0);
  BOOST_TEST(eventually([&] { return descriptors() <= after_one; }, 20s), descriptors() << " > " << after_one);
}

BOOST_AUTO_TEST_CASE(an_embedded_redis_serves_on_and_is_looked_after_and_stopped) {
  BroodProcess brood(BroodOptions{.workers = 1, .libraries = {examples}});
  BOOST_REQUIRE(eventually([&] { return fetching_workers(brood) == 1; }, 30s));
  const auto enqueues = [&] { return run_brood({"enqueue", "Hello", "world"}, brood.environment()).status == 0; };
  BOOST_TEST(eventually(enqueues, 20s), brood.log_tail());
  const CommandResult result = run_brood({"upgrade"}, brood.environment());
  BOOST_TEST(result.status == 0, result.errors << brood.log_tail());
  BOOST_TEST(enqueues());
  BOOST_TEST(contains(brood.log(), "event=embedded_redis_adopted"));
  const auto servers = [&] {
    std::vector<pid_t> found = children_of(brood.pid());
    std::erase_if(found, [](pid_t child) {
      return text_of_file("/proc/" + std::to_string(child) + "/comm") != "redis-server\n";
    });
    return found;
  };
  BOOST_REQUIRE(eventually([&] { return servers().size() == 1U; }));
  kill(servers().at(0), SIGKILL);
  BOOST_TEST(eventually(enqueues, 30s), brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return servers().size() == 1U; }));
  const pid_t server = servers().at(0);
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(eventually([&] { return !process_exists(server); }));
}
