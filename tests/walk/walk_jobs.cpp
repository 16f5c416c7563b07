// The jobs of the random walk.  Each records its actions in the file that WALK_LEDGER names: see ledger.hpp.  Built
// with WALK_BAD the library crashes in every second plain job, so that a canary rolls it back.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <brood/batch.hpp>
#include <brood/job.hpp>
#include <brood/limiter.hpp>
#include <brood/setup.hpp>

#include "tests/walk/dice.hpp"
#include "tests/walk/ledger.hpp"

using namespace std::chrono_literals;

namespace {

void append(const std::string& what, std::string_view id, const std::string& more = "") {
  brood::walk::append_to_ledger(std::getenv("WALK_LEDGER"), what, id, more);
}

// A job's place in its batch, from its payload.
std::string place_in_batch(const brood::Context& job) {
  const std::string_view payload = job.payload(), mark = "\"batch_index\":";
  const std::size_t at = payload.find(mark);
  if (job.bid().empty() || at == payload.npos) return "";
  return " " + std::string(job.bid()) + " " + std::to_string(std::atoi(payload.data() + at + mark.size()));
}

void append_begin(const brood::Context& job) {
  append("S", job.jid(), std::to_string(job.retry_count()) + " " + std::string(job.queue()) + place_in_batch(job));
}

// One run: notes its beginning and its end.
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

const std::vector<std::pair<brood::BatchEvent, const char*>> events{{brood::BatchEvent::complete, "complete"},
                                                                    {brood::BatchEvent::success, "success"},
                                                                    {brood::BatchEvent::death, "death"},
                                                                    {brood::BatchEvent::finished, "finished"}};

struct FillingFails {};

// A job pushed by a job: of a few kinds, in a queue that each configuration serves.
brood::Push drawn_push(brood::walk::WalkDice& dice, int depth) {
  brood::Push push{.queue = "default"};
  const auto be = [&](const char* job_class, const std::string& args) {
    push.job_class = job_class;
    push.args = args;
  };
  switch (dice.weighted({5, 2, 2, 1, depth > 0 ? 1 : 0})) {
    case 0:
      be("WalkPlain", "[" + std::to_string(dice.roll(0, 20)) + "]");
      break;
    case 1:
      be("WalkFails", "[" + std::to_string(dice.roll(0, 3)) + ",0]");
      push.retry = dice.roll(0, 3);
      break;
    case 2:
      be("WalkCrashes", "[" + std::to_string(dice.roll(0, 1)) + ",0]");
      break;
    case 3:
      be("WalkApart", "[" + std::to_string(dice.roll(0, 20)) + "]");
      break;
    default:
      be("WalkBranch", "[" + std::to_string(depth - 1) + "," + std::to_string(dice.roll(0, 1'000'000)) + ",0]");
  }
  return push;
}

void push_some(brood::BatchJobs& jobs, brood::walk::WalkDice& dice, const std::string& bid, const std::string& prefix,
               int depth) {
  const int count = dice.roll(0, 8);
  for (int i = 0; i < count; ++i) {
    brood::Push push = drawn_push(dice, depth);
    push.jid = prefix + std::to_string(i);
    append("N", push.jid, bid + " " + push.job_class + " " + push.queue);
    jobs.push(std::move(push));
    if (dice.one_in(10)) take(dice.roll(1, 30));
  }
}

// Writes how a push into a batch has returned.  A job whose batch accepts no more is done.
template <typename Pushing>
void note_push(const std::string& bid, Pushing push) {
  try {
    push();
    append("R", bid, "ok");
  } catch (const FillingFails&) {
    append("R", bid, "thrown");
  } catch (const brood::BatchClosed&) {
    append("R", bid, "closed");
  } catch (const brood::RedisError&) {
    append("R", bid, "failed");
    throw;
  }
}

void push_child(const brood::Context& job, int depth, brood::walk::WalkDice dice) {
  brood::Client client;
  brood::Batch child(client, {.description = "made in a job", .parent = std::string(job.bid())});
  const std::string& bid = child.bid();
  append("M", bid, std::string(job.bid()) + " " + std::string(job.jid()));
  for (const auto& [event, name] : events) {
    const int count = dice.roll(0, 2);
    for (int i = 0; i < count; ++i) {
      brood::Push push{.job_class = "WalkCallback", .args = dice.one_in(5) ? "[1,0]" : "[0,0]", .queue = "default"};
      push.jid = "wc" + bid + name[0] + std::to_string(i);
      append("K", push.jid, bid + " " + name);
      child.on(event, push);
    }
  }
  note_push(bid, [&] {
    child.push([&](brood::BatchJobs& jobs) {
      push_some(jobs, dice, bid, "wj" + bid + ".", depth);
      if (dice.one_in(8)) throw FillingFails();
      append("V", bid);
    });
  });
}

void reopen(const brood::Context& job, brood::walk::WalkDice dice) {
  brood::Client client;
  std::optional<brood::Batch> batch;
  const std::string bid(job.bid());
  note_push(bid, [&] {
    batch = brood::Batch::current(job, client);
    const std::string prefix =
        "wr" + std::string(job.jid()) + "." + std::to_string(getpid()) + "." + std::to_string(job.retry_count()) + ".";
    if (batch) batch->push([&](brood::BatchJobs& jobs) { push_some(jobs, dice, bid, prefix, 0); });
  });
}

constexpr brood::JobOptions apart{.isolation = brood::Isolation::process};

}  // namespace

// The hooks of all these jobs, which record expiry and failure.
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

// Can be interrupted.
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

// Only one job of each key may exist.
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

// Its last argument is encrypted, and identifies the job.
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

// Makes a batch below its own, whose jobs may do the same.
struct WalkBranch {
  int depth = 0, seed = 0, milliseconds = 0;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      take(milliseconds);
      push_child(job, depth, brood::walk::WalkDice(static_cast<std::uint64_t>(seed + job.retry_count())));
    });
  }
};

struct WalkBranchApart {
  int depth = 0, seed = 0, milliseconds = 0;
  static constexpr brood::JobOptions options = apart;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      take(milliseconds);
      push_child(job, depth, brood::walk::WalkDice(static_cast<std::uint64_t>(seed + job.retry_count())));
    });
  }
};

// Adds to its own batch.
struct WalkReopen {
  int seed = 0;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] { reopen(job, brood::walk::WalkDice(static_cast<std::uint64_t>(seed + job.retry_count()))); });
  }
};

struct WalkCallback {
  int times = 0, milliseconds = 0;
  WALK_HOOKS
  void perform(brood::Context& job) {
    run(job, [&] {
      take(milliseconds);
      fail(job, times);
    });
  }
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
           WalkItemsApart, WalkBranch, WalkBranchApart, WalkReopen, WalkCallback, WalkTick)
