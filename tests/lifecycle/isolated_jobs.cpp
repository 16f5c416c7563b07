// Jobs that each run in a separate process, and some that do not.  They record what they see, one write per line.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <brood/job.hpp>
#include <brood/limiter.hpp>
#include <brood/setup.hpp>

using namespace std::chrono_literals;

namespace {

constexpr brood::JobOptions apart{.isolation = brood::Isolation::process};

void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  if (file < 0 || write(file, text.data(), text.size()) < 0) throw std::runtime_error("cannot write " + path);
  close(file);
}

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

int counter = 0;                    // jobs that this process's memory has seen
std::vector<int>* table = nullptr;  // made by a startup handler

}  // namespace

void brood_setup(brood::Setup& setup) {
  setup.on(brood::Event::startup, [](const brood::Occasion&) {
    table = new std::vector<int>(1000, 7);
    const std::string thread = getenv("ISOLATED_THREAD");
    if (thread.empty()) return;
    std::thread waits([] { pause(); });
    pthread_setname_np(waits.native_handle(), thread.c_str());
    waits.detach();
  });
  setup.on_death([](const brood::JobInfo& job, const std::exception&) {
    append(std::string(getenv("ISOLATED_DEATHS")),
           "died " + std::string(job.job_class) + " " + std::to_string(getpid()));
  });
}

// "<counter> <pid> <parent>"
struct Count {
  std::string path;
  static constexpr brood::JobOptions options = apart;
  void perform() {
    append(path, std::to_string(++counter) + " " + std::to_string(getpid()) + " " + std::to_string(table->at(999)));
  }
};

// The same, in the worker.
struct CountInWorker {
  std::string path;
  void perform() { append(path, std::to_string(++counter) + " " + std::to_string(getpid()) + " 7"); }
};

// Silently corrupts what another job would use.
struct Corrupt {
  void perform() {
    delete table;
    table = reinterpret_cast<std::vector<int>*>(16);
  }
};

// Throws; its hooks record in which process they run.
struct Fail {
  std::string path;
  static constexpr brood::JobOptions options{.retry = 1, .isolation = brood::Isolation::process};
  void perform(brood::Context& context) {
    context.log_with("order", "4711");
    append(path, "perform " + std::to_string(getpid()));
    throw std::runtime_error("as it must");
  }
  brood::RetryDecision retry_in(int, const std::exception& error) {
    append(path, "retry_in " + std::to_string(getpid()) + " " + error.what());
    return 1h;
  }
  void exhausted(const brood::JobInfo&, const std::exception&) {
    append(path, "exhausted " + std::to_string(getpid()));
  }
};

struct Crash {
  std::string path;
  static constexpr brood::JobOptions options = apart;
  void perform() {
    append(path, "perform " + std::to_string(getpid()));
    raise(SIGSEGV);
  }
};

struct CrashInHook {
  static constexpr brood::JobOptions options{.retry = 5, .isolation = brood::Isolation::process};
  void perform() { throw std::runtime_error("as it must"); }
  brood::RetryDecision retry_in(int, const std::exception&) {
    raise(SIGSEGV);
    return 1s;
  }
};

struct Leave {
  int status = 0;
  static constexpr brood::JobOptions options = apart;
  void perform() { std::exit(status); }
};

// Runs until it should stop, or until a file exists.
struct Linger {
  std::string path, until;
  static constexpr brood::JobOptions options = apart;
  void perform(brood::Context& context) {
    append(path, "begun " + std::to_string(getpid()));
    while (!is_there(until)) {
      if (context.stopping()) return append(path, "stopping");
      std::this_thread::sleep_for(5ms);
    }
    append(path, "done");
  }
};

// Ignores every request to stop.
struct Burn {
  std::string path;
  static constexpr brood::JobOptions options = apart;
  void perform() {
    append(path, "begun " + std::to_string(getpid()));
    for (volatile unsigned i = 0;;) i = i + 1;
  }
};

// Leaves a process behind that has left every group and would write forever.
struct LeaveBehind {
  std::string path;
  static constexpr brood::JobOptions options = apart;
  void perform() {
    if (fork() == 0) {
      if (fork() == 0) {
        setsid();
        append(path, "left " + std::to_string(getpid()));
        for (;;) pause();
      }
      _exit(0);
    }
    wait(nullptr);
    while (std::ifstream(path).peek() == EOF) std::this_thread::sleep_for(1ms);  // until the line is there
  }
};

// Waits for all of its children, as C programs do, in a worker that has a child of another kind.
struct WaitForAll {
  std::string path;
  void perform() {
    for (int i = 0; i < 3; ++i) {
      if (fork() == 0) _exit(0);
    }
    int ended = 0;
    while (wait(nullptr) > 0) ++ended;
    append(path, "ended " + std::to_string(ended));
  }
};

// Its open descriptors also exist in a process that it forks.
struct ForkWithDescriptors {
  std::string path;
  void perform() {
    std::vector<int> opened;
    for (int i = 0; i < 20; ++i) opened.push_back(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (fork() == 0) {
      int there = 0;
      for (const int fd : opened) there += write(fd, "x", 1) == 1 ? 1 : 0;
      append(path, "there " + std::to_string(there));
      _exit(0);
    }
    wait(nullptr);
    for (const int fd : opened) close(fd);
  }
};

// Writes into every descriptor that it did not open.
struct Scribble {
  static constexpr brood::JobOptions options = apart;
  void perform() {
    for (int fd = 3; fd < 200; ++fd) {
      if (write(fd, "what is this?????????????????????", 32) < 0) continue;
    }
  }
};

struct WalkApart {
  std::string path;
  int count = 0, milliseconds = 0;
  static constexpr brood::JobOptions options = apart;
  static constexpr auto flush_interval = 0s;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const {
    std::vector<int> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return brood::each_of(std::move(numbers), cursor);
  }
  void each(int item, brood::Iteration& job) {
    append(path, std::to_string(item));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    if (access((path + ".enough").c_str(), F_OK) == 0) job.finish();
  }
};

struct Print {
  static constexpr brood::JobOptions options = apart;
  void perform() {
    std::cout << "said by cout" << std::endl;
    std::FILE* const file = fdopen(dup(1), "w");  // never closed
    std::fputs("left in a buffer\n", file);
  }
};

struct Roll {
  std::string path;
  static constexpr brood::JobOptions options = apart;
  void perform() const { append(path, std::to_string(std::rand()) + " " + std::to_string(lrand48())); }
};

struct TellShard {
  std::string path;
  static constexpr brood::JobOptions options = apart;
  void perform() const {
    const char* const shard = std::getenv("BROOD_REDIS_SHARD");
    append(path, shard == nullptr ? "none" : shard);
  }
};

struct UseMemory {
  int megabytes = 0;
  static constexpr brood::JobOptions options = apart;
  void perform() {
    std::vector<char> memory(static_cast<std::size_t>(megabytes) << 20, 1);
    const auto until = std::chrono::steady_clock::now() + 200ms;
    while (std::chrono::steady_clock::now() < until) {
      for (std::size_t i = 0; i < memory.size(); i += 4096) memory[i] = static_cast<char>(memory[i] + 1);
    }
  }
};

// Uses this many points of a limiter with at most a billion.
struct UsePoints {
  std::string path;
  std::int64_t points = 0;
  static constexpr brood::JobOptions options = apart;
  void perform() const {
    const auto limiter =
        brood::Limiter::points("points", 1'000'000'000, 1e9, {.policy = brood::OverLimitPolicy::ignore});
    limiter.within_limit([this](brood::Points& used) { used.used(points); });
    append(path, "used");
  }
};

// Two items, with cursors of this many bytes of JSON.
brood::Items<int, std::string> items_with_cursors(const std::string& path, std::int64_t bytes,
                                                  const std::optional<std::string>& cursor) {
  append(path, "from " + std::to_string(cursor.value_or("").size()));
  const std::string cursor_of_each(static_cast<std::size_t>(bytes) - 2, 'x');
  return std::vector<brood::Step<int, std::string>>{{1, cursor_of_each}, {2, cursor_of_each}};
}

struct LargeCursors {
  std::string path;
  std::int64_t bytes = 0;
  static constexpr brood::JobOptions options{.retry = 3, .isolation = brood::Isolation::process};
  static constexpr auto flush_interval = 0s;
  brood::Items<int, std::string> items(std::optional<std::string> cursor) const {
    return items_with_cursors(path, bytes, cursor);
  }
  void each(int item) const { append(path, "item " + std::to_string(item)); }
};
struct LargeCursorsInWorker {
  std::string path;
  std::int64_t bytes = 0;
  static constexpr brood::JobOptions options{.retry = 3};
  static constexpr auto flush_interval = 0s;
  brood::Items<int, std::string> items(std::optional<std::string> cursor) const {
    return items_with_cursors(path, bytes, cursor);
  }
  void each(int item) const { append(path, "item " + std::to_string(item)); }
};

// Records the length of its text; then fails once if `path`.fail exists, or crashes if
// `path`.crash does.
void weigh(const std::string& path, const std::string& what, const std::string& text) {
  append(path, what + " " + std::to_string(text.size()));
  if (std::remove((path + ".fail").c_str()) == 0) throw std::runtime_error("too heavy");
  if (std::remove((path + ".crash").c_str()) == 0) raise(SIGSEGV);
}

struct Weigh {
  std::string path;
  std::string what;
  std::string text;
  void perform() const { weigh(path, what, text); }
};
struct WeighApart {
  std::string path;
  std::string what;
  std::string text;
  static constexpr brood::JobOptions options = apart;
  void perform() const { weigh(path, what, text); }
};

BROOD_JOBS(Weigh, WeighApart, UsePoints, LargeCursors, LargeCursorsInWorker, Count, CountInWorker, Corrupt, Fail, Crash,
           CrashInHook, Leave, Linger, Burn, LeaveBehind, WaitForAll, ForkWithDescriptors, Scribble, WalkApart, Print,
           Roll, TellShard, UseMemory)
