#pragma once

#include <sys/types.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"

// The common parts of tests of isolated jobs.
namespace brood::isolation_tests {

using namespace std::chrono_literals;

inline const std::string isolated = BROOD_BINARY_DIR "/tests/job_libraries/libisolated_jobs.so";

inline bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

inline std::string word_of(const std::string& line, std::size_t number) {
  std::istringstream words(line);
  std::string word;
  for (std::size_t i = 0; i <= number; ++i) words >> word;
  return word;
}

inline std::string jid_of(long number) {
  const std::string digits = std::to_string(number);
  return std::string(24 - digits.size(), '0') + digits;
}

// A supervisor with one worker by default, and a file into which its jobs write.
struct Server {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string path = directory / "lines";
  BroodProcess brood;

  explicit Server(const std::string& config = "", int workers = 1, const std::string& thread = "")
      : brood(redis, {.workers = workers,
                      .libraries = {isolated},
                      .shutdown_timeout = "5",
                      .config = config,
                      .environment = {{"ISOLATED_DEATHS", path}, {"ISOLATED_THREAD", thread}}}) {}

  void push(const std::string& job_class, long number = 1, const std::string& args = "", const std::string& more = "") {
    enqueue(redis, {payload_text(job_class, args.empty() ? "[\"" + path + "\"]" : args, number, more)});
  }
  std::string with_path(const std::string& more) const { return "[\"" + path + "\"," + more + "]"; }

  std::vector<std::string> lines() const { return lines_of_file(path); }
  bool has_lines(std::size_t count, std::chrono::milliseconds timeout = 20s) const {
    return eventually([&] { return lines().size() >= count; }, timeout);
  }
  bool is_settled() {
    return eventually([&] { return redis.size_of("queue:default") == 0 && jobs_in_flight(redis) == 0; }, 20s);
  }
  // Waits until the set has its only entry.
  std::string entry_of(const std::string& set) {
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of(set) == 1; }, 20s), brood.log_tail());
    return redis.zrange(set).front().first;
  }
  pid_t begun() const {
    BOOST_REQUIRE_MESSAGE(has_lines(1), brood.log_tail());
    return static_cast<pid_t>(std::stol(word_of(lines().front(), 1)));
  }
  CommandResult run(const std::vector<std::string>& arguments) const {
    auto environment = brood.environment();
    environment["REDIS_URL"] = redis.url();
    return run_brood(arguments, environment);
  }
  pid_t worker() const { return brood.workers().at(0); }
  pid_t forker() const { return children_of(worker()).at(0); }
};

}  // namespace brood::isolation_tests
