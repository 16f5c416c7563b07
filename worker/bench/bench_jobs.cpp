#include <ctime>
#include <string_view>

#include <brood/job.hpp>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/scoreboard/bench_record.hpp"

// The jobs of `brood bench`.  They note when they began and ended in the file that BROOD_BENCH_RECORD names.

namespace {

using brood::BenchRecord;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

struct Notes {
  Notes() : record(BenchRecord::open(path())), worker(record.take_worker()) {}

  static const char* path() {
    const char* const path = std::getenv("BROOD_BENCH_RECORD");
    if (path == nullptr) throw std::runtime_error("BROOD_BENCH_RECORD names no file: only `brood bench` runs this job");
    return path;
  }

  void note(std::int64_t started, std::int64_t ended) {
    if (worker.first_start.load(std::memory_order_relaxed) == 0) worker.first_start.store(started);
    worker.last_end.store(ended, std::memory_order_relaxed);
    // Written last, so that a reader that sees the count also sees the times.
    worker.performed.store(worker.performed.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  BenchRecord record;
  BenchRecord::Worker& worker;
};

Notes& notes() {
  static Notes notes;
  return notes;
}

}  // namespace

struct Noop {
  std::int64_t number = 0;

  static constexpr std::string_view job_class = "BroodBench::Noop";

  void perform() {
    const std::int64_t now = now_ns();
    notes().note(now, now);
  }
};

// Does nothing and notes nothing, so that it may run in a process of its own.
struct Nothing {
  static constexpr std::string_view job_class = "BroodBench::Nothing";

  void perform() {}
};

// Does nothing and fails.
struct Failing {
  std::int64_t number = 0;

  static constexpr std::string_view job_class = "BroodBench::Failing";

  void perform() {
    const std::int64_t now = now_ns();
    notes().note(now, now);
    throw std::runtime_error("it is what this job does");
  }
};

// Leaves a trace, and sleeps: a job that waits for something other than the processor.
struct Traced {
  std::int64_t mark = 0;
  std::int64_t sleep_us = 0;

  static constexpr std::string_view job_class = "BroodBench::Traced";

  void perform() {
    const std::int64_t started = now_ns();
    Notes& own = notes();
    BenchRecord::Trace* const trace = own.record.begin_trace(own.worker, mark, started);
    if (sleep_us > 0) {
      const std::int64_t until = started + sleep_us * 1'000;
      const timespec deadline{until / 1'000'000'000, until % 1'000'000'000};
      while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) != 0) {
      }
    }
    const std::int64_t ended = sleep_us > 0 ? now_ns() : started;
    if (trace != nullptr) trace->ended.store(ended, std::memory_order_release);
    own.note(started, ended);
  }
};

// Makes a table that all workers share, of BROOD_BENCH_MEGABYTES megabytes.
void brood_setup(brood::Setup& setup) {
  static std::vector<char> table;
  const char* const megabytes = std::getenv("BROOD_BENCH_MEGABYTES");
  if (megabytes != nullptr)
    setup.on(brood::Event::preload, [=] { table.assign(std::strtoul(megabytes, nullptr, 10) << 20U, 'x'); });
}

BROOD_JOBS(Noop, Failing, Traced, Nothing)
