#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <brood/job.hpp>

// The jobs that the benchmarks measure with.

struct BenchNoop {
  std::int64_t number = 0;
  void perform() {}
};

// Writes how long ago it was pushed, in nanoseconds, to the file that BROOD_BENCH_FILE names.
struct BenchStamp {
  std::int64_t pushed = 0;
  void perform() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t latency = now.tv_sec * 1'000'000'000 + now.tv_nsec - pushed;
    static const int file = open(std::getenv("BROOD_BENCH_FILE"), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (write(file, &latency, sizeof latency) != sizeof latency) std::abort();
  }
};

BROOD_JOBS(BenchNoop, BenchStamp)
