// The jobs of the random walk.  Each appends to the file that WALK_LEDGER names, a line of 128 bytes by one write(2),
// so that a line is whole whatever kills its writer:
//   S jid pid time retry_count queue   a run begins
//   B jid pid time                     it begins, and waits for its limit before its S
//   D | F | P jid pid time             it is done | it has failed | it was put off
//   I jid pid time item                an item of an iterable job is done
//   X jid pid time                     the job came too late to begin
//   Z jid pid time                     the job will not be tried again
//   C jid pid time                     an iterable job ends, since it was cancelled
//   E jid pid time                     its encrypted argument is not what was pushed
// Built with WALK_BAD the library crashes in every second plain job, so that a canary rolls it back.
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <brood/job.hpp>
#include <brood/limiter.hpp>
#include <brood/setup.hpp>

using namespace std::chrono_literals;

namespace {

void append(const std::string& what, std::string_view jid, const std::string& more = "") {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  std::string line = what + " " + std::string(jid) + " " + std::to_string(getpid()) + " " +
                     std::to_string(std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec) + " " + more;
  line.resize(127, ' ');
  line += '\n';
  const int file = open(std::getenv("WALK_LEDGER"), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0 || write(file, line.data(), line.size()) < 0) throw std::runtime_error("cannot write the ledger");
  close(file);
}

void append_begin(const brood::Context& job) {
  append("S", job.jid(), std::to_string(job.retry_count()) + " " + std::string(job.queue()));
}

// One run: notes that it begins, and how it ends.
template <typename Work>
void run(const brood::Context& job, Work work) {
  append_begin(job);
  try {
    work();
  } catch (const std::exception&) {
    append("F", job.jid());
    throw;
  } catch (const brood::Interrupted&) {
    append("P", job.jid());
    throw;
  }
  append("D", job.jid());
}

void take(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

void fail(const brood::Context& job, int times) {
  if (job.retry_count() < times) throw std::runtime_error("failed as it must");
}

brood::LimiterOptions impatient() {
  return {.wait = 20ms, .reschedule = 1'000'000, .backoff = [](int) { return 50ms; }};
}

constexpr brood::JobOptions apart{.isolation = brood::Isolation::process};

}  // namespace

// What all of them do when they come too late, or fail.
#define WALK_HOOKS                                                            \
  static void on_expired(const brood::JobInfo& job) { append("X", job.jid); } \
  static brood::RetryDecision retry_in(int, const std::exception&) { return 1s; }

struct WalkPlain {
  int milliseconds = 0;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
#ifdef WALK_BAD
      if (job.jid().back() % 2 == 0) raise(SIGSEGV);
#endif
      take(milliseconds);
    });
  }
};

struct WalkApart {
  int milliseconds = 0;
  static constexpr brood::JobOptions options = apart;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] { take(milliseconds); });
  }
};

// Its class may have a cap.
struct WalkHeavy {
  int milliseconds = 0;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] { take(milliseconds); });
  }
};

// Fails at its first attempts.
struct WalkFails {
  int times = 0, milliseconds = 0;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      take(milliseconds);
      fail(job, times);
    });
  }
};

struct WalkFailsApart {
  int times = 0, milliseconds = 0;
  static constexpr brood::JobOptions options = apart;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      take(milliseconds);
      fail(job, times);
    });
  }
};

// Crashes at its first attempts.
struct WalkCrashes {
  int times = 0, milliseconds = 0;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      take(milliseconds);
      if (job.retry_count() < times) raise(SIGSEGV);
    });
  }
};

struct WalkCrashesApart {
  int times = 0, milliseconds = 0;
  static constexpr brood::JobOptions options = apart;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      take(milliseconds);
      if (job.retry_count() < times) raise(SIGSEGV);
    });
  }
};

// Takes longer than it may, at its first attempt.
struct WalkSlow {
  static constexpr brood::JobOptions options{.timeout = 200ms};
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      if (job.retry_count() == 0) take(5'000);
    });
  }
};

// Lets itself be interrupted.
struct WalkPatient {
  int milliseconds = 0;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      for (int passed = 0; passed < milliseconds; passed += 10) {
        if (job.stopping()) throw brood::Interrupted{};
        take(10);
      }
    });
  }
};

// There is to be one of each key.
#define WALK_UNIQUE(UniqueJob, until_when)                                                  \
  struct UniqueJob {                                                                        \
    int key = 0, version = 0, milliseconds = 0, fails = 0;                                  \
    static constexpr brood::JobOptions options{.unique = true, .unique_until = until_when}; \
    static constexpr auto unique_by = std::tuple{&UniqueJob::key};                          \
    WALK_HOOKS                                                                              \
    void perform(brood::Context& job) {                                                     \
      run(job, [&] {                                                                        \
        take(milliseconds);                                                                 \
        fail(job, fails);                                                                   \
      });                                                                                   \
    }                                                                                       \
  };
WALK_UNIQUE(WalkUnique, brood::UniqueUntil::done)
WALK_UNIQUE(WalkUniqueToStart, brood::UniqueUntil::start)
WALK_UNIQUE(WalkAlone, brood::UniqueUntil::running)

// Its last argument is encrypted, and tells which job it is.
struct WalkSecret {
  int times = 0, crashes = 0, milliseconds = 0;
  std::string secret;
  static constexpr brood::JobOptions options{.encrypt = true};
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      if (secret != "in-clear-" + std::string(job.jid()) || job.payload().find(secret) != std::string_view::npos)
        append("E", job.jid());
      take(milliseconds);
      if (job.retry_count() < times && crashes != 0) raise(SIGSEGV);
      fail(job, times);
    });
  }
};

struct WalkLimited {
  int milliseconds = 0;
  WALK_HOOKS
  void perform(brood::Context& job) {
    append("B", job.jid());
    brood::Limiter::concurrent("walk", 2, impatient()).within_limit([&] { run(job, [&] { take(milliseconds); }); });
  }
};

struct WalkLimitedApart {
  int milliseconds = 0;
  static constexpr brood::JobOptions options = apart;
  WALK_HOOKS
  void perform(brood::Context& job) {
    append("B", job.jid());
    brood::Limiter::concurrent("walk", 2, impatient()).within_limit([&] { run(job, [&] { take(milliseconds); }); });
  }
};

#define WALK_ITEMS                                                    \
  int count = 0, milliseconds = 0;                                    \
  brood::Items<int> items(std::optional<std::int64_t> cursor) const { \
    std::vector<int> numbers(static_cast<std::size_t>(count));        \
    std::iota(numbers.begin(), numbers.end(), 0);                     \
    return brood::each_of(std::move(numbers), cursor);                \
  }                                                                   \
  void each(int item, brood::Iteration& job) {                        \
    take(milliseconds);                                               \
    append("I", job.jid(), std::to_string(item));                     \
  }                                                                   \
  void on_start(brood::Iteration& job) { append_begin(job); }         \
  void on_resume(brood::Iteration& job) { append_begin(job); }        \
  void on_cancel(brood::Iteration& job) { append("C", job.jid()); }   \
  void on_complete(brood::Iteration& job) { append("D", job.jid()); } \
  WALK_HOOKS

struct WalkItems {
  static constexpr auto flush_interval = 50ms;
  WALK_ITEMS
};

struct WalkItemsApart {
  static constexpr brood::JobOptions options = apart;
  static constexpr auto flush_interval = 0s;
  WALK_ITEMS
};

struct WalkTick {
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [] {});
  }
};

void brood_setup(brood::Setup& setup) {
  setup.on_death([](const brood::JobInfo& job, const std::exception&) { append("Z", job.jid); });
  if (std::getenv("WALK_PRELOADS") != nullptr) setup.on(brood::Event::preload, [](const brood::Occasion&) {});
}

BROOD_JOBS(WalkPlain, WalkApart, WalkHeavy, WalkFails, WalkFailsApart, WalkCrashes, WalkCrashesApart, WalkSlow,
           WalkPatient, WalkUnique, WalkUniqueToStart, WalkAlone, WalkSecret, WalkLimited, WalkLimitedApart, WalkItems,
           WalkItemsApart, WalkTick)
