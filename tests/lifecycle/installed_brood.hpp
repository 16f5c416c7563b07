#pragma once

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/fleet_view.hpp"
#include "tests/support/ledger.hpp"

// The common parts of tests of upgrades.
namespace brood::upgrade_tests {

using namespace std::chrono_literals;

inline constexpr const char* built = BROOD_BINARY_DIR "/bin/brood";
inline constexpr const char* examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";
inline constexpr const char* roll_jobs = BROOD_BINARY_DIR "/tests/job_libraries/libroll_jobs_1.so";

inline const std::string fails_in_takeover = "ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" BROOD_BINARY_DIR
                                             "/tests/job_libraries/libfailing_takeover.so TAKEOVER=";

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline ino_t file_of(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 ? about.st_ino : 0;
}

// A brood whose program can be replaced.
struct Installed {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string program = directory / "brood", ran = directory / "ran";
  Ledger ledger{directory / "ledger"};
  std::optional<BroodProcess> brood;

  explicit Installed(int workers = 2, const std::string& config = "") {
    install();
    if (contains(config, "[web]"))
      std::filesystem::copy_file(BROOD_BINARY_DIR "/bin/brood-web", directory / "brood-web");
    brood.emplace(redis,
                  BroodOptions{.workers = workers,
                               .libraries = {examples, roll_jobs},
                               .config = contains(config, "[log]") ? config : config + "\n[log]\nlog_jobs = true\n",
                               .program = program});
    BOOST_REQUIRE_MESSAGE(fetches(workers), brood->log_tail());
  }
  // Installs as a package does: under another name, then renamed.
  void install() const {
    std::filesystem::copy_file(built, program + ".new", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(program + ".new", program);
  }
  void install_text(const std::string& text) const {
    std::ofstream(program + ".new") << text;
    chmod((program + ".new").c_str(), 0755);
    std::filesystem::rename(program + ".new", program);
  }
  // Installs the real program, with a script that runs this before it takes the supervisor's place.
  void install_with(const std::string& once_in_place) const {
    std::filesystem::copy_file(built, directory / "real", std::filesystem::copy_options::overwrite_existing);
    install_text("#!/bin/sh\nreal=" + (directory / "real") + "\nif [ $$ = " + std::to_string(brood->pid()) +
                 " ]; then\n" + once_in_place + "\nfi\nexec $real \"$@\"\n");
  }
  CommandResult command(std::vector<std::string> words) const { return run_brood(words, brood->environment()); }
  bool fetches(int workers) const {
    return eventually([&] { return fetching_workers(*brood) == workers; }, 30s);
  }
  bool logs(const std::string& text) const {
    return eventually([&] { return contains(brood->log(), text); }, 30s);
  }
  bool upgrades(std::size_t times) const {
    return eventually([&] { return times_logged(*brood, "restart_ended") >= times; }, 60s);
  }
  void run_until(const std::string& file) {
    enqueue(redis, {payload_text("UntilFile", "[\"" + ran + "\",\"" + file + "\"]", 1)});
  }
  std::string written() const { return text_of_file(ran); }
  bool writes(const std::string& part) const {
    return eventually([&] { return contains(written(), part); }, 20s);
  }
  void run_jobs(int from, int to) {
    for (int job = from; job < to; ++job)
      enqueue(redis,
              {payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + std::to_string(job) + "\",0]", job + 10)});
  }
  bool done(std::size_t jobs) const {
    return eventually([&] { return ledger.done().size() == jobs; }, 30s);
  }
};

}  // namespace brood::upgrade_tests
