#include <boost/test/unit_test.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string libraries_of_rolls = BROOD_BINARY_DIR "/tests/job_libraries/";

// A brood under load whose job library is replaced.
struct Site {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string library = directory / "libjobs.so", config = directory / "brood.toml", ran = directory / "ran",
                    deaths = directory / "deaths";
  std::optional<BroodProcess> brood;
  long number = 0;

  explicit Site(const std::string& more = "", bool hears_of_deaths = false) {
    install("roll_jobs_1");
    std::ofstream(config) << "concurrency = 3\nmax_unavailable = 3\n" << more;
    BroodOptions options{.workers = 3, .sets_workers = false, .libraries = {library}, .arguments = {"-C", config}};
    if (hears_of_deaths) options.environment = {{"ROLL_DEATHS", deaths}};
    brood.emplace(redis, options);
    BOOST_REQUIRE_MESSAGE(logs("event=ready"), brood->log_tail());
  }
  // As in a deploy: written under another name, then renamed.
  void install(const std::string& name) const {
    std::filesystem::copy_file(libraries_of_rolls + "lib" + name + ".so", library + ".new",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(library + ".new", library);
  }
  bool logs(const std::string& text) const {
    return eventually([&] { return brood->log().find(text) != std::string::npos; }, 30s);
  }
  void push(int jobs) {
    std::vector<std::string> payloads;
    for (int i = 0; i < jobs; ++i, ++number)
      payloads.push_back(
          payload_text("NowAndThen", "[" + std::to_string(number % 1000) + "]", 1 + number, "\"retry\":false"));
    enqueue(redis, payloads);
  }
  bool has_done_all() {
    return eventually([&] { return no_job_is_left(redis); }, 30s);
  }
  // Lets the workers run for a while before a restart.
  void run_as_usual() {
    for (int i = 0; i < 10; ++i) {
      push(50);
      BOOST_REQUIRE(has_done_all());
    }
    // The canary looks once a second.
    const auto until = steady_now() + 1100ms;
    BOOST_REQUIRE(eventually([&] { return steady_now() > until; }));
  }
  // Restarts while jobs come in, a few at a time.
  CommandResult restart_under_load() {
    auto result = std::async(std::launch::async, [&] { return run_brood({"restart"}, brood->environment()); });
    while (result.wait_for(100ms) != std::future_status::ready) {
      if (redis.size_of("queue:default") == 0) push(8);
    }
    return result.get();
  }
  // The version of the library that runs jobs now.
  std::string version() {
    std::filesystem::remove(ran);
    enqueue(redis, {payload_text("Versioned", "[\"" + ran + "\"]")});
    std::string word, version;
    eventually([&] { return static_cast<bool>(std::ifstream(ran) >> word >> version); }, 20s);
    return version;
  }
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(new_workers_that_crash_now_and_then_are_taken_back) {
  Site site;
  site.run_as_usual();
  site.install("roll_jobs_that_crash");

  const CommandResult result = site.restart_under_load();

  BOOST_TEST(result.status == 70, result.output << result.errors << site.brood->log_tail());
  BOOST_TEST(says(result.errors, "NowAndThen jobs crash more"), result.errors);
  BOOST_TEST(site.logs("event=restart_rolled_back class=NowAndThen what=crashed before=\"0 of "));
  // The file is new, but the workers run the old one, also those that start later.
  BOOST_TEST(site.version() == "1");
  BOOST_REQUIRE(eventually([&] { return site.brood->workers().size() == 3; }));
  const auto crashed = [&] { return times_logged(*site.brood, "worker_crashed"); };
  const std::size_t crashes = crashed() + 3;
  for (const pid_t worker : site.brood->workers()) kill(worker, SIGKILL);
  BOOST_TEST(eventually([&] { return crashed() == crashes; }), site.brood->log_tail());
  BOOST_TEST(site.version() == "1");
  site.push(200);
  BOOST_TEST(site.has_done_all());
  BOOST_TEST(crashed() == crashes);
}

BOOST_AUTO_TEST_CASE(a_job_that_crashes_in_a_library_that_came_back_is_charged) {
  Site site;
  site.run_as_usual();
  site.install("roll_jobs_that_crash");
  BOOST_REQUIRE(site.restart_under_load().status == 70);
  BOOST_REQUIRE(site.has_done_all());
  enqueue(site.redis, {payload_text("UntilFile", "[\"" + site.ran + "\",\"/nowhere\"]")});
  std::string word, version;
  pid_t worker = 0;
  BOOST_REQUIRE(eventually([&] { return static_cast<bool>(std::ifstream(site.ran) >> word >> version >> worker); }));
  kill(worker, SIGSEGV);
  BOOST_TEST(eventually([&] { return site.redis.size_of("retry") == 1; }, 20s));
  BOOST_TEST(site.logs("class=UntilFile queue=default error=SIGSEGV"));
  BOOST_TEST_MESSAGE(site.brood->log_tail());
}

namespace {

void check_that_the_old_library_hears_of_deaths(bool scales) {
  Site site("", true);
  site.run_as_usual();
  site.install("roll_jobs_that_crash");
  BOOST_REQUIRE(site.restart_under_load().status == 70);
  BOOST_REQUIRE(site.has_done_all());
  if (scales) BOOST_REQUIRE(run_brood({"scale", "4"}, site.brood->environment()).status == 0);
  enqueue(site.redis,
          {payload_text("UntilFile", "[\"" + site.ran + "\",\"/nowhere\"]", 1 + site.number, "\"retry\":false")});
  std::string word, version;
  pid_t worker = 0;
  BOOST_REQUIRE(eventually([&] { return static_cast<bool>(std::ifstream(site.ran) >> word >> version >> worker); }));
  kill(worker, SIGSEGV);
  const auto heard = [&] { return says(text_of_file(site.deaths), "died 1 "); };
  BOOST_TEST(eventually(heard, 20s), site.brood->log_tail());
  BOOST_TEST(!says(site.brood->log(), "event=library_refused"), site.brood->log_tail());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_library_that_came_back_hears_of_deaths) { check_that_the_old_library_hears_of_deaths(false); }
BOOST_AUTO_TEST_CASE(a_library_that_came_back_hears_of_deaths_after_a_scale) {
  check_that_the_old_library_hears_of_deaths(true);
}

BOOST_AUTO_TEST_CASE(new_workers_that_fail_now_and_then_are_taken_back) {
  Site site;
  site.run_as_usual();
  site.install("roll_jobs_that_fail");
  const CommandResult result = site.restart_under_load();
  BOOST_TEST(result.status == 70, result.output << result.errors << site.brood->log_tail());
  BOOST_TEST(says(result.errors, "NowAndThen jobs fail more"), result.errors);
  BOOST_TEST(site.version() == "1");
}

BOOST_AUTO_TEST_CASE(a_hangup_is_watched_too) {
  Site site;
  site.run_as_usual();
  site.install("roll_jobs_that_crash");
  site.brood->signal(SIGHUP);
  const bool taken_back = eventually(
      [&] {
        if (site.redis.size_of("queue:default") == 0) site.push(8);
        return times_logged(*site.brood, "restart_rolled_back") == 1;
      },
      20s);
  BOOST_REQUIRE_MESSAGE(taken_back, site.brood->log_tail());
  BOOST_TEST(site.version() == "1");
}

BOOST_AUTO_TEST_CASE(new_workers_that_do_well_stay) {
  Site site;
  site.run_as_usual();
  site.install("roll_jobs_2");
  const CommandResult result = site.restart_under_load();
  BOOST_TEST(result.status == 0, result.errors << site.brood->log_tail());
  BOOST_TEST(site.version() == "2");
  // Once more: those workers are the old ones now.
  site.run_as_usual();
  site.install("roll_jobs_that_fail");
  BOOST_TEST(site.restart_under_load().status == 70);
  BOOST_TEST(site.version() == "2");
  // A rollback is no obstacle to the next restart.
  site.install("roll_jobs_1");
  BOOST_TEST(site.restart_under_load().status == 0);
  BOOST_TEST(site.version() == "1");
}

BOOST_AUTO_TEST_CASE(jobs_that_always_failed_now_and_then_go_on) {
  Site site;
  site.install("roll_jobs_that_fail");
  BOOST_REQUIRE(run_brood({"restart"}, site.brood->environment()).status == 0);
  site.run_as_usual();
  site.install("roll_jobs_that_fail");
  BOOST_TEST(site.restart_under_load().status == 0, site.brood->log_tail());
}

BOOST_AUTO_TEST_CASE(a_fleet_without_jobs_is_not_waited_for) {
  Site site("[restart]\ncanary_watch = \"1h\"\n");
  site.run_as_usual();
  BOOST_TEST(run_brood({"restart"}, site.brood->environment()).status == 0);
}

BOOST_AUTO_TEST_CASE(a_canary_can_be_switched_off) {
  Site site("[restart]\ncanary = false\n");
  site.run_as_usual();
  site.install("roll_jobs_that_crash");
  BOOST_TEST(site.restart_under_load().status == 0);
  BOOST_TEST(site.version() == "4");
}

BOOST_AUTO_TEST_CASE(a_quiet_ends_the_watch_and_the_new_workers_stay) {
  Site site("[restart]\ncanary_watch = \"1h\"\n");
  site.run_as_usual();
  site.install("roll_jobs_2");
  auto restart = std::async(std::launch::async, [&] { return run_brood({"restart"}, site.brood->environment()); });
  auto watched = std::async(std::launch::async, [&] {
    const auto is_watched = [&] {
      const CommandResult status = run_brood({"status"}, site.brood->environment());
      return says(status.output, "all 3 workers are new, and watched");
    };
    return eventually(is_watched, 30s);
  });
  // A fleet with nothing to do would be watched for only two seconds.
  while (watched.wait_for(100ms) != std::future_status::ready) site.push(1);
  BOOST_REQUIRE(watched.get());
  BOOST_TEST(run_brood({"quiet"}, site.brood->environment()).status == 0);
  BOOST_TEST(restart.get().status == 0);
  BOOST_TEST(run_brood({"resume"}, site.brood->environment()).status == 0);
  BOOST_TEST(site.version() == "2");
}

BOOST_AUTO_TEST_CASE(a_library_that_was_written_over_cannot_come_back) {
  Site site;
  site.run_as_usual();
  { std::ofstream(site.library, std::ios::app) << "more"; }  // after the end, which is never executed
  BOOST_TEST(site.restart_under_load().status == 0);
  BOOST_TEST(site.logs("event=restart_without_canary"));
}
