// Jobs that return results and report progress.
#include <signal.h>
#include <unistd.h>
#include <brood/job.hpp>

#include <chrono>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void wait_for(const std::string& path) {
  while (!is_there(path)) std::this_thread::sleep_for(5ms);
}

}  // namespace

struct Sum {
  std::vector<std::int64_t> numbers;
  static constexpr brood::JobOptions options{.keep_result = 1h};
  void perform(const brood::Context& job) const {
    std::int64_t sum = 0;
    for (const std::int64_t number : numbers) sum += number;
    job.result("a first one, which does not count");
    job.result(std::map<std::string, std::int64_t>{{"sum", sum}});
  }
};

// The same in a separate process.
struct SumApart {
  std::vector<std::int64_t> numbers;
  static constexpr brood::JobOptions options{.isolation = brood::Isolation::process, .keep_result = 1h};
  void perform(const brood::Context& job) const {
    Sum{numbers}.perform(job);
    job.progress(1, 2, "apart");
  }
};

struct Large {
  std::int64_t bytes = 0;
  static constexpr brood::JobOptions options{.retry = 0, .keep_result = 1h};
  void perform(const brood::Context& job) const { job.result(std::string(static_cast<std::size_t>(bytes), 'x')); }
};

struct FailsForGood {
  static constexpr brood::JobOptions options{.retry = 0, .keep_result = 1h};
  void perform(const brood::Context& job) const {
    job.result("of a run that failed");
    throw std::runtime_error("no luck");
  }
};

// The same, but its result is not stored.
struct Discarded {
  static constexpr brood::JobOptions options{.retry = false, .keep_result = 1h};
  void perform() const { throw std::runtime_error("no luck"); }
};

// Crashes its worker while its path does not exist.
struct CrashesUntil {
  std::string path;
  static constexpr brood::JobOptions options{.retry = 0, .keep_result = 1h};
  void perform(const brood::Context& job) const {
    if (!is_there(path)) raise(SIGSEGV);
    job.result(7);
  }
};

// Reports progress, and ends when `path` exists.
struct Waits {
  std::string path;
  static constexpr brood::JobOptions options{.keep_result = 1h};
  void perform(const brood::Context& job) const {
    job.progress(3, 10, "page <3>");
    wait_for(path);
    job.result(true);
  }
};

struct WaitsApart {
  std::string path;
  static constexpr brood::JobOptions options{.isolation = brood::Isolation::process, .keep_result = 1h};
  void perform(const brood::Context& job) const { Waits{path}.perform(job); }
};

// Counts its items by itself.
struct Counts {
  std::string path;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const {
    return brood::each_of(std::vector<int>(4, 1), cursor);
  }
  void each(int) const { wait_for(path); }
};

BROOD_JOBS(Sum, SumApart, Large, FailsForGood, Discarded, CrashesUntil, Waits, WaitsApart, Counts)
