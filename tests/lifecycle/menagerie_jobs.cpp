// Jobs that end as badly as native code can, one class for each way.
#include <brood/job.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/as_written.hpp"

using namespace std::chrono_literals;

namespace {

using Call = void (*)();

volatile int zero = 0;

// Keeps a call from being the last instruction of a function.
void after_call() { asm volatile(""); }

BROOD_AS_WRITTEN void descend_and_write(int depth) {
  if (depth <= 1) {
    int* volatile address = reinterpret_cast<int*>(0x10);
    *address = 1;
  } else {
    descend_and_write(depth - 1);
  }
  after_call();
}

BROOD_AS_WRITTEN void throw_number() { throw 42; }
BROOD_AS_WRITTEN void throw_through_noexcept() noexcept { throw_number(); }
BROOD_AS_WRITTEN void throw_in_a_thread() { throw std::runtime_error("no such picture"); }

BROOD_AS_WRITTEN int dig(int depth) {
  volatile char ballast[4096];
  ballast[0] = static_cast<char>(depth);
  return depth < 0 ? ballast[0] : dig(depth + 1) + ballast[0];
}

BROOD_AS_WRITTEN void call_wildly(Call function) {
  function();
  after_call();
}

BROOD_AS_WRITTEN void free_twice() {
  char* volatile memory = static_cast<char*>(std::malloc(24));
  char* volatile again = memory;
  std::free(memory);
  std::free(again);
  after_call();
}

// The size of the second block is right behind the first.
BROOD_AS_WRITTEN void overflow_and_free() {
  char* volatile first = static_cast<char*>(std::malloc(24));
  char* volatile second = first + 32;
  for (int i = 0; i < 32; ++i) static_cast<volatile char*>(first)[i] = 0;
  std::free(second);
  after_call();
}

// Overwrites its return address and its callers' frames.
BROOD_AS_WRITTEN void smash_stack() {
  auto* const frame = static_cast<volatile std::uint64_t*>(__builtin_frame_address(0));
  for (int i = 0; i < 40; ++i) frame[i] = 0x4141414141414141;
}

BROOD_AS_WRITTEN int divide_by_zero() { return 100 / zero; }

BROOD_AS_WRITTEN void sleep_for_ever() {
  for (;;) {
    std::this_thread::sleep_for(1h);
    after_call();
  }
}
BROOD_AS_WRITTEN void spin_for_ever() {
  while (zero == 0) {
  }
}

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
}

// Writes to every socket without a name: a worker's control pipe.
void babble(const char* bytes, std::size_t size, int times) {
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_un peer{};
    socklen_t length = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0 || peer.sun_family != AF_UNIX) continue;
    if (length > sizeof(sa_family_t)) continue;
    for (int i = 0; i < times && send(fd, bytes, size, MSG_NOSIGNAL) > 0; ++i) {
    }
  }
}

// Without the shield the caller of these jobs must survive.
void require_shield(pid_t target) {
  if (kill(target, 0) == 0 || errno != EPERM) throw std::logic_error("nothing keeps this job from hitting others");
}

[[noreturn]] void stay() {
  for (;;) pause();
}

}  // namespace

struct SegfaultAtDepth {
  int depth = 1;
  void perform() { descend_and_write(depth); }
};

// Appends the time to a file, in nanoseconds of CLOCK_MONOTONIC, and crashes or returns.
struct NoteMoment {
  std::string file;
  bool crashes = false;
  void perform() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch() / 1ns;
    const int fd = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (write(fd, &now, sizeof now) != sizeof now) throw std::runtime_error("cannot write to " + file);
    close(fd);
    if (crashes) descend_and_write(3);
  }
};

struct AbortAtOnce {
  void perform() {
    std::abort();
    after_call();
  }
};

struct ThrowNumber {
  void perform() { throw_number(); }
};

struct ThrowThroughNoexcept {
  void perform() { throw_through_noexcept(); }
};

struct ThrowInThread {
  void perform() { std::thread(throw_in_a_thread).join(); }
};

struct OverflowStack {
  void perform() { zero = zero + dig(0) * 0; }
};

struct JumpToGarbage {
  void perform() { call_wildly(reinterpret_cast<Call>(0x4141414141414141)); }
};

struct JumpToNull {
  void perform() { call_wildly(nullptr); }
};

struct FreeTwice {
  void perform() { free_twice(); }
};

struct OverflowHeap {
  void perform() { overflow_and_free(); }
};

// Ends well.  The next allocation or free finds the memory behind the block corrupt.
struct SpoilHeap {
  void perform() {
    char* volatile block = static_cast<char*>(std::malloc(24));
    for (int i = 24; i < 4096; ++i) static_cast<volatile char*>(block)[i] = 0x41;
  }
};

struct SmashStack {
  void perform() {
    smash_stack();
    after_call();
  }
};

struct DivideByZero {
  void perform() { zero = zero + divide_by_zero() * 0; }
};

struct ExitWithZero {
  void perform() {
    std::exit(0);
    after_call();
  }
};

struct ExitAtOnce {
  void perform() { _exit(99); }
};

struct WindUpAtDeadline {
  void perform(brood::Context& job) {
    while (!job.stopping()) std::this_thread::sleep_for(5ms);
    throw brood::Interrupted{};
  }
};

struct HangAsleep {
  void perform() { sleep_for_ever(); }
};

struct Spin {
  void perform() { spin_for_ever(); }
};

struct HangDeaf {
  void perform() {
    block_all_signals();
    sleep_for_ever();
  }
};

struct StopItself {
  void perform() {
    raise(SIGSTOP);
    stay();
  }
};

// Does not touch the memory: the limit applies to what is requested.
struct LeakToTheLimit {
  void perform() {
    for (;;) kept = new char[1 << 20];
  }
  static inline char* volatile kept = nullptr;
};

struct RubbishOnControlPipe {
  void perform() {
    babble("\xff\xfe rubbish", 10, 1);
    stay();
  }
};

struct MegabytesOnControlPipe {
  void perform() {
    static char rubbish[64 << 10];
    std::memset(rubbish, 'R', sizeof rubbish);  // the byte with which a worker reports that it is ready, over and over
    rubbish[sizeof rubbish - 1] = 'x';
    babble(rubbish, sizeof rubbish, 128);
    stay();
  }
};

struct CloseDescriptors {
  void perform() {
    close_range(3, ~0U, 0);
    throw std::runtime_error("closed them all");
  }
};

struct CloseDescriptorsAndCrash {
  void perform() {
    close_range(0, ~0U, 0);
    descend_and_write(1);
  }
};

struct KillSupervisor {
  void perform() {
    require_shield(getppid());
    for (const int signal : {SIGTERM, SIGSTOP, SIGKILL}) {
      if (kill(getppid(), signal) == 0) throw std::logic_error("hit");
    }
    throw std::runtime_error(strerrorname_np(errno));
  }
};

struct KillOwnGroup {
  void perform() {
    kill(0, SIGKILL);
    stay();
  }
};

// Uses a signal that is ignored: the shield does not look which signal it is.
struct KillEverybody {
  void perform() {
    require_shield(getppid());
    require_shield(-1);
    if (kill(-1, SIGURG) == 0) throw std::logic_error("hit");
    throw std::runtime_error(strerrorname_np(errno));
  }
};

// Leaves an orphan in its own session, which only SIGKILL ends.
struct Daemonise {
  void perform() {
    if (fork() == 0) {
      setsid();
      if (fork() == 0) {
        block_all_signals();
        stay();
      }
      _exit(0);
    }
    _exit(3);
  }
};

// Every second child is in its own group, so that a kill of the worker's group misses it.
struct ForkBomb {
  int size = 0;
  void perform() {
    for (int i = 0; i < size; ++i) {
      const pid_t child = fork();
      if (child < 0) break;
      if (child > 0) continue;
      if (i % 2 == 0) setsid();
      stay();
    }
    std::abort();
    after_call();
  }
};

// Prints what a terminal or a log reader might misinterpret.
struct ForgeLog {
  void perform() {
    for (std::FILE* const stream : {stdout, stderr}) {
      std::fputs("\x1b]0;evil\x07\x1b[2J\r\nevent=forged level=error\n{\"event\":\"forged\"}\n\xff\xfe\n", stream);
      std::fflush(stream);
    }
    throw std::runtime_error("\x1b[31mred\x1b[0m");
  }
};

// Ends well, but leaves a thread that crashes after this time.
struct LeaveCrashingThread {
  int after_us = 0;
  void perform() {
    std::thread([us = after_us] {
      std::this_thread::sleep_for(std::chrono::microseconds(us));
      descend_and_write(3);
    }).detach();
  }
};

// Both kinds are of one class, so that they are performed in one batch.
struct FailOrCrash {
  bool crashes = false;
  void perform() {
    if (crashes) descend_and_write(3);
    throw std::runtime_error("as it was told");
  }
};

// Notes in a ledger when it begins and ends, as the example does, and fails.
struct FailInLedger {
  std::string path, id;
  void perform() {
    const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const auto say = [&](const char* what, const char* start_time) {
      const auto now = std::chrono::steady_clock::now().time_since_epoch() / 1ns;
      std::string line = what + id + " " + std::to_string(getpid()) + start_time + " " + std::to_string(now);
      while (line.size() % 64 != 63) line += ' ';
      line += '\n';
      if (write(fd, line.data(), line.size()) < 0) std::abort();
    };
    say("S ", " 0");
    say("D ", "");
    close(fd);
    throw std::runtime_error("as always");
  }
};

// Overwrites all slots, including those of neighbours.
struct ScribbleOverScoreboard {
  void perform() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(".scoreboard") == std::string::npos) continue;
      char *begin = nullptr, *end = nullptr;
      if (std::sscanf(line.c_str(), "%p-%p", reinterpret_cast<void**>(&begin), reinterpret_cast<void**>(&end)) == 2)
        std::memset(begin, 0xa5, static_cast<std::size_t>(end - begin));
    }
    std::abort();
  }
};

BROOD_JOBS(SegfaultAtDepth, NoteMoment, AbortAtOnce, ThrowNumber, ThrowThroughNoexcept, ThrowInThread, OverflowStack,
           JumpToGarbage, JumpToNull, FreeTwice, OverflowHeap, SpoilHeap, SmashStack, DivideByZero, ExitWithZero,
           ExitAtOnce, WindUpAtDeadline, HangAsleep, Spin, HangDeaf, StopItself, LeakToTheLimit, RubbishOnControlPipe,
           MegabytesOnControlPipe, CloseDescriptors, CloseDescriptorsAndCrash, KillSupervisor, KillOwnGroup,
           KillEverybody, Daemonise, ForkBomb, ForgeLog, LeaveCrashingThread, ScribbleOverScoreboard, FailOrCrash,
           FailInLedger)
