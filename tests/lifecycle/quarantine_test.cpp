#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string built_libraries = BROOD_BINARY_DIR "/tests/job_libraries/";

// A brood whose library crashes, and can be replaced.
struct Clinic {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string library = directory / "libjobs.so", config = directory / "brood.toml", ran = directory / "ran";
  std::optional<BroodProcess> brood;

  explicit Clinic(const std::string& crashes) {
    install("roll_jobs_that_crash");
    std::ofstream(config)
        << "concurrency = 2\npoll_interval = \"24h\"\n[restart]\ncanary = false\n[log]\nlog_jobs = true\n"
        << crashes;
    brood.emplace(
        redis, BroodOptions{.workers = 2, .sets_workers = false, .libraries = {library}, .arguments = {"-C", config}});
    BOOST_REQUIRE_MESSAGE(brood->wait_ready(), brood->log_tail());
  }
  void install(const std::string& name) const {
    std::filesystem::copy_file(built_libraries + "lib" + name + ".so", library + ".new",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(library + ".new", library);
  }
  void restart_with(const std::string& name) {
    install(name);
    BOOST_TEST(command({"restart"}).status == 0, brood->log_tail());
  }
  CommandResult command(const std::vector<std::string>& words) const {
    auto environment = brood->environment();
    environment["REDIS_URL"] = redis.url();
    return run_brood(words, environment);
  }
  // With the crashing library the first argument 0 crashes, and 50 does not.
  void push(int jobs, int first_number, int argument = 0) {
    std::vector<std::string> payloads;
    for (int i = 0; i < jobs; ++i)
      payloads.push_back(payload_text("NowAndThen", "[" + std::to_string(argument) + "]", first_number + i));
    enqueue(redis, payloads);
  }
  void push_other() { enqueue(redis, {payload_text("Versioned", "[\"" + ran + "\"]", 9999)}); }
  std::size_t waiting() { return redis.size_of("brood:quarantined"); }
  std::size_t logged(const std::string& event) const { return times_logged(*brood, event); }
  bool comes(const std::function<bool()>& state) {
    const bool came = eventually(state, 40s);
    BOOST_TEST(came, brood->log_tail());
    return came;
  }
  // Waits for three crashes, and until these are reported and known.  All other jobs wait.
  void fall_ill(std::size_t jobs) {
    push(static_cast<int>(jobs), 1);
    BOOST_REQUIRE(
        comes([&] { return redis.size_of("retry") + waiting() == jobs && no_job_is_left(redis, "default", true); }));
    BOOST_TEST(logged("job_crashed") >= 3u);  // some may already wait for a second run
    BOOST_TEST(waiting() >= jobs * 3 / 4);    // a crash counts before its stack has names
    // Redis, and so the workers, know of the quarantine before the recovery that began it has reported it.
    comes([&] { return logged("class_quarantined") >= 1u; });
    BOOST_TEST(logged("class_quarantined") == 1u, brood->log_tail());
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string after_three = "[crashes]\nquarantine_after = 3\n";

}  // namespace

BOOST_AUTO_TEST_CASE(jobs_that_would_crash_wait_and_run_when_other_libraries_come) {
  Clinic clinic(after_three);
  clinic.fall_ill(80);
  const std::size_t crashed = clinic.logged("job_crashed");

  // Other classes go on, retries wait when they come due, and nothing crashes any more.
  clinic.push_other();
  BOOST_TEST(clinic.comes([&] { return std::filesystem::exists(clinic.ran); }));
  BOOST_TEST(clinic.command({"retries", "run", "--all", "--yes"}).status == 0);
  BOOST_REQUIRE(clinic.comes([&] { return clinic.waiting() == 80; }));
  BOOST_TEST(clinic.logged("job_crashed") == crashed, clinic.brood->log_tail());

  const std::string json = clinic.command({"status", "--json"}).output;
  BOOST_TEST(has(json, R"("quarantine":[{"class":"NowAndThen","fingerprint":")"), json);
  BOOST_TEST(has(json, R"("quarantined":80)"), json);
  const std::string text = clinic.command({"status"}).output;
  BOOST_TEST(has(text, "80 jobs wait for other libraries"), text);
  const std::string listed = clinic.command({"quarantine", "--json"}).output;
  BOOST_TEST(has(listed, R"({"fingerprint":")"), listed);
  BOOST_TEST(has(listed, R"(","class":"NowAndThen","count":)"), listed);
  BOOST_TEST(has(listed, R"(,"since":1)"), listed);
  BOOST_TEST(has(listed, R"(,"waiting":80,)"), listed);
  const std::string metrics = clinic.command({"status", "--format", "prometheus"}).output;
  BOOST_TEST(has(metrics, "\nbrood_jobs_quarantined 80\n"), metrics);

  clinic.restart_with("roll_jobs_1");
  BOOST_REQUIRE(clinic.comes([&] { return clinic.waiting() == 0 && no_job_is_left(clinic.redis); }));
  BOOST_TEST(clinic.logged("class_released") == 1u, clinic.brood->log_tail());
  BOOST_TEST(clinic.logged("quarantine_probe") >= 3u, clinic.brood->log_tail());
  BOOST_TEST(clinic.logged("job_crashed") == crashed, clinic.brood->log_tail());
  const std::string log = clinic.brood->log();
  std::size_t done = 0;
  for (std::size_t at = 0; (at = log.find("event=job_done", at)) != std::string::npos; ++at)
    done += log.compare(log.find("class=", at), 16, "class=NowAndThen") == 0 ? 1 : 0;
  BOOST_TEST(done == 80u);
  BOOST_TEST(has(clinic.command({"quarantine"}).output, "No class is in quarantine."));
}

BOOST_AUTO_TEST_CASE(other_libraries_that_crash_too_are_found_out_by_one_job) {
  Clinic clinic(after_three);
  clinic.fall_ill(80);
  const std::size_t crashed = clinic.logged("job_crashed");
  clinic.restart_with("roll_jobs_that_crash_too");
  BOOST_REQUIRE(clinic.comes([&] { return clinic.logged("class_quarantined") == 2u; }));
  BOOST_TEST(clinic.comes([&] { return clinic.waiting() + clinic.redis.size_of("retry") == 80; }));
  BOOST_TEST(clinic.logged("job_crashed") == crashed + 1, clinic.brood->log_tail());
  BOOST_TEST(clinic.logged("quarantine_probe") == 1u);
}

BOOST_AUTO_TEST_CASE(by_hand_they_run_again_even_if_they_crash) {
  Clinic clinic(after_three);
  clinic.fall_ill(80);
  const std::size_t waited = clinic.waiting(), crashed = clinic.logged("job_crashed");
  const CommandResult released = clinic.command({"quarantine", "release", "NowAndThen"});
  BOOST_TEST(released.status == 0, released.errors);
  BOOST_TEST(has(released.output, "released NowAndThen: " + std::to_string(waited) + " jobs"), released.output);
  // They crash again, and then the rest waits again.  An older crash that is recovered only now may be one of the
  // three.
  BOOST_REQUIRE(clinic.comes([&] { return clinic.logged("class_quarantined") == 2u; }));
  BOOST_TEST(clinic.comes([&] { return clinic.waiting() + clinic.redis.size_of("retry") == 80; }));
  BOOST_TEST(clinic.comes([&] { return clinic.logged("job_crashed") > crashed; }));

  // The beginning of the fingerprint is accepted too.
  const std::string listed = clinic.command({"quarantine", "--json"}).output;
  const std::string fingerprint = listed.substr(listed.find(R"("fingerprint":")") + 15, 6);
  BOOST_TEST(clinic.command({"quarantine", "release", fingerprint.substr(0, 3)}).status == 75, listed);
  const CommandResult by_fingerprint = clinic.command({"quarantine", "release", fingerprint, "--json"});
  BOOST_TEST(by_fingerprint.status == 0, by_fingerprint.errors);
  BOOST_TEST(has(by_fingerprint.output, R"({"class":"NowAndThen","fingerprint":")" + fingerprint),
             by_fingerprint.output);

  const CommandResult unknown = clinic.command({"quarantine", "release", "Versioned"});
  BOOST_TEST(unknown.status == 75);
  BOOST_TEST(has(unknown.errors, "Versioned is not in quarantine"), unknown.errors);
}

BOOST_AUTO_TEST_CASE(without_the_setting_nothing_waits) {
  Clinic clinic("");
  clinic.push(8, 1);
  BOOST_TEST(clinic.comes([&] { return clinic.redis.size_of("retry") == 8; }));
  BOOST_TEST(clinic.waiting() == 0u);
  BOOST_TEST(clinic.redis.size_of("brood:quarantine") == 0u);
}

BOOST_AUTO_TEST_CASE(a_kill_of_all_processes_loses_no_waiting_job) {
  Clinic clinic(after_three);
  clinic.fall_ill(80);
  clinic.push(30, 200, 50);  // of the same class: they wait too, although they would not crash
  clinic.brood->kill9();
  clinic.brood->start();
  BOOST_REQUIRE(clinic.brood->wait_ready());
  BOOST_TEST(clinic.comes([&] { return clinic.waiting() + clinic.redis.size_of("retry") == 110; }));
}
