#pragma once

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "tests/support/as_written.hpp"
#include "tests/support/eventually.hpp"
#include "worker/crash/crash_handler.hpp"

// A process that runs a job and crashes, or is asked for its stack, and the crash handler's record of it.  Include this
// in only one file of a program, so that dladdr can name its functions.

#if defined(__SANITIZE_ADDRESS__)
// Makes the sanitizer's own findings end by abort(), so that they reach the handler too.
extern "C" const char* __asan_default_options() {
  return "abort_on_error=1:handle_abort=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:"
         "detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0";
}
#endif

// Code of jobs.  Their names are visible to dladdr, and no two of them are merged.
#define JOB_CODE extern "C" BROOD_AS_WRITTEN

namespace brood::crashing_child {

using namespace std::chrono_literals;

using Call = void (*)();

inline volatile int zero = 0;

// Keeps a call from being the last instruction of a function.
inline void after_call() { asm volatile(""); }

}  // namespace brood::crashing_child

JOB_CODE void write_null() {
  int* volatile address = reinterpret_cast<int*>(0x10);
  *address = 1;
}

JOB_CODE void call_exit(int status) { std::exit(status); }

JOB_CODE void throw_number() { throw 42; }
JOB_CODE void throw_foreign() noexcept { throw_number(); }
JOB_CODE void throw_runtime_error() { throw std::runtime_error("no such picture"); }

JOB_CODE void spin() {
  while (brood::crashing_child::zero == 0) {
  }
}

namespace brood::crashing_child {

// A child with its own slot that has installed the handler and runs a job.
class Child {
 public:
  explicit Child(const std::function<void(SlotRecord&)>& job, const CrashHandlerSettings& settings = {})
      : board_(Scoreboard::in_memory(1)) {
    record().current.store(-1);
    std::fflush(nullptr);  // the child must not write what is buffered
    pid_ = fork();
    if (pid_ != 0) return;
    try {
      stop_the_test_framework();
      install_crash_handler(record(), settings);
      note_libraries();
      record().current.store(0);
      record().ready.store(1);
      job(record());
    } catch (...) {
      _exit(99);
    }
    _exit(77);
  }
  ~Child() {
    if (status_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  SlotRecord& record() { return board_.slot(0); }
  pid_t pid() const { return pid_; }

  // The status from waitpid; kills the child if it takes too long.
  int wait() {
    if (status_) return *status_;
    int status = -1;
    if (!eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, 30s)) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      BOOST_ERROR("it did not end");
    }
    status_ = status;
    return status;
  }
  int ended_by() { return WIFSIGNALED(wait()) ? WTERMSIG(wait()) : 0; }
  int exit_status() { return WIFEXITED(wait()) ? WEXITSTATUS(wait()) : -1; }

  CapturedStack crash() {
    wait();
    return read_stack(record().crash);
  }

  // Asks for its stack as a supervisor does.
  std::optional<CapturedStack> dump(std::uint32_t number) {
    record().dump.request.store(number);
    record().dump.state.store(0);
    kill(pid_, SIGTTIN);
    const auto complete = [this] { return read_stack(record().dump).state == StackState::complete; };
    if (!eventually(complete)) return std::nullopt;
    return read_stack(record().dump);
  }

 private:
  // The test framework handles some of the signals, and its checks are not meant for a child.
  static void stop_the_test_framework() {
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    close(STDERR_FILENO);  // the output of glibc and the sanitizers is not wanted
  }

  Scoreboard board_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// The names of the functions, innermost first; the addresses of this program are those of its children.
inline std::vector<std::string> functions(const CapturedStack& stack) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    Dl_info info{};
    const std::uint64_t address = stack.frames[i] - (i == 0 ? 0 : 1);
    const bool known = dladdr(reinterpret_cast<const void*>(address), &info) != 0 && info.dli_sname != nullptr;
    names.emplace_back(known ? info.dli_sname : "?");
  }
  return names;
}

inline std::string text(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += name + " ";
  return all;
}

// Whether the stack has these calls, each directly made by the next, from the first of them on.
inline bool has_calls(const CapturedStack& stack, const std::vector<std::string>& expected) {
  const auto names = functions(stack);
  return std::search(names.begin(), names.end(), expected.begin(), expected.end()) != names.end();
}

#define CHECK_CALLS(stack, ...) \
  BOOST_TEST(has_calls(stack, std::vector<std::string> __VA_ARGS__), text(functions(stack)))

inline bool begins_with_pc(const CapturedStack& stack) { return !stack.frames.empty() && stack.frames[0] == stack.pc; }

inline bool whole(const CapturedStack& stack) { return stack.state == StackState::complete && begins_with_pc(stack); }

}  // namespace brood::crashing_child
