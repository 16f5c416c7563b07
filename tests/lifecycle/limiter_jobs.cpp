// Jobs with limits.  The kernel counts how many run at once: there are as many files as jobs may run, and each running
// job locks one.  The lock ends with its process.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <brood/job.hpp>

using namespace std::chrono_literals;

namespace {

void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  if (file < 0 || write(file, text.data(), text.size()) < 0) throw std::runtime_error("cannot write " + path);
  close(file);
}

// Locks a free one of `slots`; records if there is none.
class Slot {
 public:
  Slot(const std::string& directory, int slots) {
    for (int i = 0; i < slots && file_ < 0; ++i) {
      const int file = open((directory + "/slot" + std::to_string(i)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0)
        file_ = file;
      else
        close(file);
    }
    if (file_ < 0) append(directory + "/too_many", std::to_string(getpid()));
  }
  ~Slot() { close(file_); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

 private:
  int file_ = -1;
};

brood::LimiterOptions impatient() {
  return {.wait = 50ms, .reschedule = 1'000'000, .backoff = [](int) { return 20ms; }};
}

void hold(const std::string& directory, const std::string& id, int slots, int milliseconds) {
  brood::Limiter::concurrent("erp", slots, impatient()).within_limit([&] {
    const Slot slot(directory, slots);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    append(directory + "/done", id);
  });
}

const brood::Limiter one_an_hour = brood::Limiter::window("hourly", 1, 1h, {.wait = 0ms});

}  // namespace

struct Hold {
  std::string directory, id;
  int slots = 1, milliseconds = 1;
  void perform() { hold(directory, id, slots, milliseconds); }
};

struct HoldApart {
  std::string directory, id;
  int slots = 1, milliseconds = 1;
  static constexpr brood::JobOptions options{.isolation = brood::Isolation::process};
  void perform() { hold(directory, id, slots, milliseconds); }
};

// Waits for a slot until the worker ends it.
struct WaitsApart {
  std::string path;
  static constexpr brood::JobOptions options{.isolation = brood::Isolation::process};
  void perform() {
    append(path, std::to_string(getpid()));
    brood::Limiter::concurrent("erp", 1, {.wait = 10min}).within_limit([&] { append(path, "has it"); });
  }
};

// Takes no lock: its queue is capped.
struct InCappedQueue {
  std::string directory, id;
  int slots = 1, milliseconds = 1;
  void perform() {
    const Slot slot(directory, slots);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    append(directory + "/done", id);
  }
};

// A different class in the same queue.
struct Uncapped {
  std::string directory, id;
  int slots = 1, milliseconds = 1;
  void perform() { append(directory + "/done", id); }
};

struct OnceAnHour {
  std::string path;
  static constexpr brood::JobOptions options{.retry = false};
  void perform() {
    one_an_hour.within_limit([&] { append(path, "done"); });
  }
};

struct OnceAnHourApart {
  std::string path;
  static constexpr brood::JobOptions options{.retry = false, .isolation = brood::Isolation::process};
  void perform() {
    one_an_hour.within_limit([&] { append(path, "done"); });
  }
};

struct ThrowsOverLimit {
  int times = 0;
  void perform() { throw brood::OverLimit("by_hand", 1ms, times); }
};

struct WrongLimiter {
  std::string kind;
  void perform() {
    if (kind == "name") brood::Limiter::concurrent("no name", 1).within_limit([] {});
    if (kind == "refill") brood::Limiter::points("no-refill", 10, 0).within_limit([] {});
    if (kind == "used") brood::Limiter::points("used", 10, 1).used(-1).within_limit([] {});
  }
};

// The answers of a limiter, besides exceptions.
struct Answers {
  std::string path;
  void perform() {
    const brood::LimiterOptions ignore{.wait = 0ms, .policy = brood::OverLimitPolicy::ignore};
    const auto two = brood::Limiter::window("answers", 2, 1h, ignore);
    std::string said;
    said += two.within_limit([] {}) ? "ran " : "left out ";
    said += std::to_string(two.within_limit([] { return 7; })) + " ";
    said += two.within_limit([] {}) ? "ran " : "left out ";
    said += std::to_string(two.used(2).within_limit([] { return 7; })) + " ";
    const auto points = brood::Limiter::points("points", 100, 0.001, ignore);
    said += points.used(80).within_limit([](brood::Points& used) { used.used(10); }) ? "ran " : "left out ";
    said += points.used(80).within_limit([](brood::Points&) {}) ? "ran " : "left out ";
    said += points.used(80).within_limit([](brood::Points&) {}) ? "ran " : "left out ";
    const auto both = brood::Limiter::all_of(brood::Limiter::concurrent("a", 1), two, brood::Limiter::unlimited());
    said += both.within_limit([] {}) ? "ran" : "left out";
    append(path, said);
  }
};

BROOD_JOBS(Hold, HoldApart, WaitsApart, InCappedQueue, Uncapped, OnceAnHour, OnceAnHourApart, ThrowsOverLimit,
           WrongLimiter, Answers)
