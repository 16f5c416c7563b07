// Iterable jobs that record each item as `<item> <pid>`, one write per line.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include <brood/job.hpp>

using namespace std::chrono_literals;

namespace {

void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line.data(), line.size()) < 0) throw std::runtime_error("cannot write " + path);
  close(file);
}

std::string line(int item) { return std::to_string(item) + " " + std::to_string(getpid()) + "\n"; }

brood::Items<int> numbers_below(int count, std::optional<std::int64_t> cursor) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return brood::each_of(std::move(numbers), cursor);
}

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace

// Saves before each item.  Ends early once the file `<path>.enough` exists.
struct Walk {
  std::string path;
  int count = 0, milliseconds = 0;

  static constexpr auto flush_interval = 0s;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return numbers_below(count, cursor); }
  void each(int item, brood::Iteration& job) {
    append(path, line(item));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    if (is_there(path + ".enough")) job.finish();
  }
  void on_cancel() { append(path, "cancelled\n"); }
  void on_stop() { append(path, "stop\n"); }
};

// Saves only when it must.  Throws at one item while a file is missing.
struct WalkUnsaved {
  std::string path;
  int count = 0, milliseconds = 0;
  std::optional<int> breaks_at = {};
  std::optional<std::string> unless = {};

  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return numbers_below(count, cursor); }
  void each(int item) {
    if (item == breaks_at && !(unless && is_there(*unless))) throw std::runtime_error("item " + std::to_string(item));
    append(path, line(item));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
};

// Records the number of its retries.
struct WalkTwice {
  std::string path;
  int count = 0, milliseconds = 0;

  static constexpr brood::JobOptions options{.retry = 2};
  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return numbers_below(count, cursor); }
  void each(int item) {
    append(path, line(item));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
};

// Each item has enough time, but all items together take longer.
struct WalkInTime {
  std::string path;
  int count = 0, milliseconds = 0;

  static constexpr brood::JobOptions options{.timeout = 3s};
  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return numbers_below(count, cursor); }
  void each(int item) {
    append(path, line(item));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
};

struct WalkInTimeApart {
  std::string path;
  int count = 0, milliseconds = 0;

  static constexpr brood::JobOptions options{.timeout = 3s, .isolation = brood::Isolation::process};
  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return numbers_below(count, cursor); }
  void each(int item) {
    append(path, line(item));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
};

// Waits at item 25, at least a second, until it should stop.
struct IterJob {
  int count = 0;

  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return numbers_below(count, cursor); }
  void each(int item, brood::Iteration& job) {
    append(std::getenv("ITERATION_LINES"), line(item));
    while (item == 25 && (!job.stopping() || job.run_time() < 1s)) std::this_thread::sleep_for(2ms);
  }
};

// If the payload asks for it, forks a copy of the worker, which returns first.
void brood_setup(brood::Setup& setup) {
  setup.server_middleware().add("copies", [](brood::Run& run, const brood::Next& next) {
    const pid_t copy = run.member("copied") ? fork() : -1;
    if (copy > 0) waitpid(copy, nullptr, 0);
    next();
  });
}

BROOD_JOBS(Walk, WalkTwice, WalkUnsaved, WalkInTime, WalkInTimeApart, IterJob)
