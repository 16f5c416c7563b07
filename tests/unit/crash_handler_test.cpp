#include "worker/crash/crash_handler.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/as_written.hpp"
#include "tests/support/eventually.hpp"
#include "worker/guard/process_state.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/perform.hpp"

using namespace brood;
using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__)
// What it finds itself ends by abort(), so that it meets the handler too.
extern "C" const char* __asan_default_options() {
  return "abort_on_error=1:handle_abort=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:"
         "detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0";
}
#endif

// What jobs do.  Their names are visible to dladdr, and no two of them become one.
#define JOB_CODE extern "C" BROOD_AS_WRITTEN

namespace {

using Call = void (*)();

volatile int zero = 0;

// Where nothing is mapped.
const Call nowhere = reinterpret_cast<Call>(0x1000);
// No address that the processor knows.
const Call no_address = reinterpret_cast<Call>(0x4141414141414141);

// Keeps a call from being the last thing that a function does.
void after_call() { asm volatile(""); }

}  // namespace

JOB_CODE void write_null() {
  int* volatile address = reinterpret_cast<int*>(0x10);
  *address = 1;
}
JOB_CODE void write_null_inner() {
  write_null();
  after_call();
}
JOB_CODE void write_null_middle() {
  write_null_inner();
  after_call();
}
JOB_CODE void write_null_outer() {
  write_null_middle();
  after_call();
}

JOB_CODE void call_abort() { std::abort(); }

JOB_CODE int divide_by_zero() { return 100 / zero; }

JOB_CODE void call_pointer(Call function) {
  function();
  after_call();
}
JOB_CODE void call_pointer_outer(Call function) {
  call_pointer(function);
  after_call();
}

JOB_CODE int dig(int depth) {
  volatile char ballast[4096];
  ballast[0] = static_cast<char>(depth);
  return depth < 0 ? ballast[0] : dig(depth + 1) + ballast[0];
}

// Writes over its return address and what its callers hold.
JOB_CODE void smash_stack() {
  auto* const frame = static_cast<volatile std::uint64_t*>(__builtin_frame_address(0));
  for (int i = 0; i < 40; ++i) frame[i] = 0x4141414141414141;
}

JOB_CODE void call_exit(int status) { std::exit(status); }

JOB_CODE void throw_number() { throw 42; }
JOB_CODE void throw_foreign() noexcept { throw_number(); }
JOB_CODE void throw_runtime_error() { throw std::runtime_error("no such picture"); }

struct ThrowsInWhat : std::exception {
  const char* what() const noexcept override {
    throw_number();
    return "";
  }
};
struct CrashesInWhat : std::exception {
  const char* what() const noexcept override {
    write_null();
    return "";
  }
};

JOB_CODE void free_twice() {
  char* volatile memory = static_cast<char*>(std::malloc(24));
  char* volatile again = memory;
  std::free(memory);
  std::free(again);
}

JOB_CODE void spin() {
  while (zero == 0) {
  }
}

JOB_CODE void sleep_long() { std::this_thread::sleep_for(1h); }

namespace {

// A child with a slot of its own, that has installed the handler and runs a job.
class Child {
 public:
  explicit Child(const std::function<void(SlotRecord&)>& job, const CrashHandlerSettings& settings = {})
      : board_(Scoreboard::in_memory(1)) {
    record().current.store(-1);
    std::fflush(nullptr);  // what waits to be written is not for the child to write
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

  // As waitpid tells it; killed when it takes too long.
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

  // Asks for its stack as its supervisor does.
  std::optional<CapturedStack> dump(std::uint32_t number) {
    record().dump.request.store(number);
    record().dump.state.store(0);
    kill(pid_, SIGTTIN);
    const auto complete = [this] { return read_stack(record().dump).state == StackState::complete; };
    if (!eventually(complete)) return std::nullopt;
    return read_stack(record().dump);
  }

 private:
  // It handles some of the signals, and its checks are not for a child.
  static void stop_the_test_framework() {
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    close(STDERR_FILENO);  // what glibc and the sanitizers have to say is wanted by nobody
  }

  Scoreboard board_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// The functions, innermost first; this program's own addresses are those of its children.
std::vector<std::string> functions(const CapturedStack& stack) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    Dl_info info{};
    const std::uint64_t address = stack.frames[i] - (i == 0 ? 0 : 1);
    const bool known = dladdr(reinterpret_cast<const void*>(address), &info) != 0 && info.dli_sname != nullptr;
    names.emplace_back(known ? info.dli_sname : "?");
  }
  return names;
}

std::string text(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += name + " ";
  return all;
}

// From the first of them on, each directly called by the next.
bool has_calls(const CapturedStack& stack, const std::vector<std::string>& expected) {
  const auto names = functions(stack);
  return std::search(names.begin(), names.end(), expected.begin(), expected.end()) != names.end();
}

#define CHECK_CALLS(stack, ...) \
  BOOST_TEST(has_calls(stack, std::vector<std::string> __VA_ARGS__), text(functions(stack)))

bool begins_with_pc(const CapturedStack& stack) { return !stack.frames.empty() && stack.frames[0] == stack.pc; }

bool whole(const CapturedStack& stack) { return stack.state == StackState::complete && begins_with_pc(stack); }

void spin_until_killed(SlotRecord& record) {
  for (;;) record.processed.fetch_add(1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_null_write_leaves_signal_code_address_place_and_thread) {
  Child child([](SlotRecord&) { write_null(); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGSEGV);
  BOOST_TEST(whole(crash));
  BOOST_TEST(crash.signal == SIGSEGV);
  BOOST_TEST(crash.code == SEGV_MAPERR);
  BOOST_TEST(crash.address == 0x10U);
  BOOST_TEST(crash.thread == child.pid());
  BOOST_TEST(crash.sp != 0U);
  BOOST_TEST(crash.data_bytes > 0U);
  BOOST_TEST(functions(crash).at(0) == "write_null");
}

BOOST_AUTO_TEST_CASE(a_stack_names_every_caller_in_order) {
  Child child([](SlotRecord&) { write_null_outer(); });

  CHECK_CALLS(child.crash(), {"write_null", "write_null_inner", "write_null_middle", "write_null_outer"});
  BOOST_TEST(functions(child.crash()).back() == "_start");
}

BOOST_AUTO_TEST_CASE(the_program_is_noted_with_its_path_range_and_build_id) {
  Child child([](SlotRecord&) { write_null(); });

  const CapturedStack crash = child.crash();
  BOOST_REQUIRE(!crash.modules.empty());
  const CapturedStack::Module& program = crash.modules[0];
  BOOST_TEST(program.path == std::filesystem::read_symlink("/proc/self/exe").string());
  BOOST_TEST(program.build_id.size() == 40U);
  BOOST_TEST((program.begin <= crash.pc && crash.pc < program.end));
  Dl_info info{};
  BOOST_REQUIRE(dladdr(reinterpret_cast<const void*>(&write_null), &info) != 0);
  BOOST_TEST(program.bias == reinterpret_cast<std::uint64_t>(info.dli_fbase));
  BOOST_TEST(std::any_of(crash.modules.begin(), crash.modules.end(),
                         [](const auto& module) { return module.path.find("libc.so") != std::string::npos; }));
}

BOOST_AUTO_TEST_CASE(abort_is_told_with_who_called_it) {
  Child child([](SlotRecord&) { call_abort(); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGABRT);
  BOOST_TEST(crash.signal == SIGABRT);
  BOOST_TEST(crash.address == 0U);
  BOOST_TEST(whole(crash));
  CHECK_CALLS(crash, {"abort", "call_abort"});
}

BOOST_AUTO_TEST_CASE(an_uncaught_exception_of_a_thread_leaves_its_type_and_what) {
  Child child([](SlotRecord&) { std::thread(throw_runtime_error).join(); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGABRT);
  BOOST_TEST(crash.thrown_type == "St13runtime_error");
  BOOST_TEST(crash.what == "no such picture");
  BOOST_TEST(crash.thread != child.pid());
  BOOST_TEST(whole(crash));
  const auto names = functions(crash);
  BOOST_TEST((std::find(names.begin(), names.end(), "throw_runtime_error") != names.end()), text(names));
}

BOOST_AUTO_TEST_CASE(a_thrown_number_leaves_its_type_and_where_it_came_to_its_end) {
  Child child([](SlotRecord&) { throw_foreign(); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGABRT);
  BOOST_TEST(crash.thrown_type == "i");
  BOOST_TEST(crash.what == "");
  const auto names = functions(crash);
  BOOST_TEST((std::find(names.begin(), names.end(), "throw_foreign") != names.end()), text(names));
}

BOOST_AUTO_TEST_CASE(terminate_without_an_exception_leaves_no_type) {
  Child child([](SlotRecord&) { std::terminate(); });

  BOOST_TEST(child.crash().signal == SIGABRT);
  BOOST_TEST(child.crash().thrown_type == "");
}

BOOST_AUTO_TEST_CASE(a_what_that_throws_or_crashes_leaves_the_type) {
  Child throwing([](SlotRecord&) { std::thread([] { throw ThrowsInWhat(); }).join(); });
  BOOST_TEST(throwing.ended_by() == SIGABRT);
  BOOST_TEST(throwing.crash().thrown_type == "12ThrowsInWhat");
  BOOST_TEST(whole(throwing.crash()));

  Child crashing([](SlotRecord&) { std::thread([] { throw CrashesInWhat(); }).join(); });
  BOOST_TEST(crashing.ended_by() == SIGSEGV);
  BOOST_TEST(crashing.crash().thrown_type == "13CrashesInWhat");
  CHECK_CALLS(crashing.crash(), {"write_null", "_ZNK13CrashesInWhat4whatEv"});
}

BOOST_AUTO_TEST_CASE(the_overflow_of_the_stack_is_told_on_another_one) {
  Child child([](SlotRecord&) { dig(0); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGSEGV);
  BOOST_TEST(whole(crash));
  BOOST_TEST(crash.frames.size() == static_cast<std::size_t>(max_frames));
  CHECK_CALLS(crash, {"dig", "dig", "dig", "dig"});
}

BOOST_AUTO_TEST_CASE(a_null_function_is_told_with_its_callers) {
  Child child([](SlotRecord&) { call_pointer_outer(nullptr); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGSEGV);
  BOOST_TEST(crash.pc == 0U);
  BOOST_TEST(whole(crash));
  BOOST_TEST(crash.frames.size() > 4U);  // by the unwinder's rules, not by frame pointers alone
  CHECK_CALLS(crash, {"?", "call_pointer", "call_pointer_outer"});
}

BOOST_AUTO_TEST_CASE(a_wild_jump_is_told_with_its_callers) {
  Child child([](SlotRecord&) { call_pointer_outer(nowhere); });
  BOOST_TEST(child.ended_by() == SIGSEGV);
  BOOST_TEST(child.crash().pc == 0x1000U);
  BOOST_TEST(whole(child.crash()));
  CHECK_CALLS(child.crash(), {"?", "call_pointer", "call_pointer_outer"});

  Child farther([](SlotRecord&) { call_pointer_outer(no_address); });
  BOOST_TEST(farther.ended_by() == SIGSEGV);
  BOOST_TEST(whole(farther.crash()));
  CHECK_CALLS(farther.crash(), {"call_pointer", "call_pointer_outer"});

  Child into_data([](SlotRecord&) {
    static const char data[] = "no code";
    call_pointer_outer(reinterpret_cast<Call>(reinterpret_cast<std::uintptr_t>(data)));
  });
  BOOST_TEST(into_data.ended_by() == SIGSEGV);
  CHECK_CALLS(into_data.crash(), {"call_pointer", "call_pointer_outer"});
}

BOOST_AUTO_TEST_CASE(a_smashed_stack_is_told_as_far_as_it_can_be_read) {
  Child child([](SlotRecord&) { smash_stack(); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGSEGV);
  BOOST_TEST(whole(crash));
  BOOST_TEST(functions(crash).at(0) == "smash_stack");
}

#if defined(__x86_64__)
// As assemblers' libraries often are: nothing tells the unwinder how to leave it.
asm(R"(
    .text
    .globl crash_without_tables
    .type crash_without_tables, @function
crash_without_tables:
    push %rbp
    mov %rsp, %rbp
    push $0
    movl $1, 0x10
    leave
    ret
    .size crash_without_tables, . - crash_without_tables
)");
extern "C" void crash_without_tables();

BOOST_AUTO_TEST_CASE(code_without_unwind_tables_is_told_with_its_callers) {
  Child child([](SlotRecord&) { call_pointer_outer(crash_without_tables); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGSEGV);
  BOOST_TEST(whole(crash));
  CHECK_CALLS(crash, {"crash_without_tables", "call_pointer", "call_pointer_outer"});
  BOOST_TEST(functions(crash).back() == "_start", text(functions(crash)));
}
#endif

BOOST_AUTO_TEST_CASE(a_division_by_zero_is_told) {
  Child child([](SlotRecord&) { divide_by_zero(); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGFPE);
  BOOST_TEST(crash.code == FPE_INTDIV);
  BOOST_TEST(crash.address == crash.pc);
  BOOST_TEST(functions(crash).at(0) == "divide_by_zero");
}

BOOST_AUTO_TEST_CASE(other_ways_to_crash_end_by_their_own_signal) {
  for (const int signal : {SIGILL, SIGBUS, SIGTRAP, SIGSYS, SIGSEGV, SIGABRT, SIGFPE}) {
    Child child([signal](SlotRecord&) { raise(signal); });
    BOOST_TEST(child.ended_by() == signal);
    BOOST_TEST(child.crash().signal == signal);
    BOOST_TEST(child.crash().code == SI_TKILL);
    BOOST_TEST(whole(child.crash()));
  }
  Child trap([](SlotRecord&) { __builtin_trap(); });
  BOOST_TEST(trap.ended_by() == SIGILL);
  BOOST_TEST(whole(trap.crash()));
}

BOOST_AUTO_TEST_CASE(memory_freed_twice_is_told_with_who_did) {
  Child child([](SlotRecord&) { free_twice(); });

  BOOST_TEST(child.ended_by() == SIGABRT);
  const auto names = functions(child.crash());
  BOOST_TEST((std::find(names.begin(), names.end(), "free_twice") != names.end()), text(names));
}

BOOST_AUTO_TEST_CASE(a_crash_of_a_thread_is_told_with_that_thread) {
  Child child([](SlotRecord& record) {
    std::thread([&] {
      record.failed.store(static_cast<std::uint64_t>(gettid()));
      write_null_outer();
    }).join();
  });

  BOOST_TEST(child.ended_by() == SIGSEGV);
  BOOST_TEST(child.crash().thread == static_cast<int>(child.record().failed.load()));
  CHECK_CALLS(child.crash(), {"write_null", "write_null_inner", "write_null_middle", "write_null_outer"});
}

BOOST_AUTO_TEST_CASE(a_copy_of_the_worker_that_crashes_leaves_its_slot_alone) {
  for (const Call how : {+[] { write_null(); }, +[] { call_abort(); }, +[] { throw_foreign(); },
                         +[] { static_cast<void>(raise(SIGSYS)); }, +[] { call_exit(3); }}) {
    Child child([how](SlotRecord&) {
      const pid_t copy = fork();
      if (copy == 0) how();
      int status = 0;
      waitpid(copy, &status, 0);
      _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 100 + WEXITSTATUS(status));
    });
    const int expected[] = {SIGSEGV, SIGABRT, SIGSYS, 103};
    BOOST_TEST(std::count(std::begin(expected), std::end(expected), child.exit_status()) == 1);
    BOOST_TEST(!child.crash().any());
    BOOST_TEST(child.crash().thrown_type == "");
  }
}

BOOST_AUTO_TEST_CASE(a_job_that_hangs_and_is_aborted_is_told_with_where_it_hung) {
  Child child([](SlotRecord& record) {
    record.processed.store(1);
    spin();
  });
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() == 1; }));

  kill(child.pid(), SIGABRT);

  BOOST_TEST(child.ended_by() == SIGABRT);
  BOOST_TEST(child.crash().code == SI_USER);
  CHECK_CALLS(child.crash(), {"spin"});
}

BOOST_AUTO_TEST_CASE(exit_during_a_job_is_told_with_who_called_it_and_changes_nothing) {
  Child child([](SlotRecord&) { call_exit(3); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.exit_status() == 3);
  BOOST_TEST(crash.signal == 0);
  BOOST_TEST(crash.exit_status == 3);
  BOOST_TEST(whole(crash));
  CHECK_CALLS(crash, {"exit", "call_exit"});
}

BOOST_AUTO_TEST_CASE(an_exit_outside_of_jobs_or_without_ceremony_is_not_told) {
  Child idle([](SlotRecord& record) {
    record.current.store(-1);
    call_exit(3);
  });
  BOOST_TEST(idle.exit_status() == 3);
  BOOST_TEST(!idle.crash().any());

  Child abrupt([](SlotRecord&) { _exit(5); });
  BOOST_TEST(abrupt.exit_status() == 5);
  BOOST_TEST(!abrupt.crash().any());
}

BOOST_AUTO_TEST_CASE(a_crash_on_the_way_out_is_what_is_told) {
  static Call on_the_way = write_null;
  struct Crashes {
    ~Crashes() { on_the_way(); }
  };
  Child child([](SlotRecord&) {
    static const Crashes late;
    call_exit(3);
  });
  // The static was made after the handler of exit() was registered, so it is destroyed before; a library's is after.
  BOOST_TEST(child.ended_by() == SIGSEGV);
  BOOST_TEST(child.crash().signal == SIGSEGV);
  BOOST_TEST(child.crash().exit_status == 0);
  BOOST_TEST(functions(child.crash()).at(0) == "write_null");
}

BOOST_AUTO_TEST_CASE(an_unwinder_that_hangs_is_ended_and_the_header_stands) {
  Child child([](SlotRecord&) { write_null(); }, {.longest_unwinding = 100ms, .before_unwinding = spin});

  BOOST_TEST(child.ended_by() == SIGKILL);
  BOOST_TEST((child.crash().state == StackState::header));
  BOOST_TEST(child.crash().signal == SIGSEGV);
  BOOST_TEST(child.crash().address == 0x10U);
  BOOST_TEST(child.crash().pc != 0U);
}

BOOST_AUTO_TEST_CASE(a_handler_that_crashes_ends_by_the_first_signal_and_the_header_stands) {
  Child child([](SlotRecord&) { call_abort(); }, {.before_unwinding = write_null});

  BOOST_TEST(child.ended_by() == SIGABRT);
  BOOST_TEST((child.crash().state == StackState::header));
  BOOST_TEST(child.crash().signal == SIGABRT);
}

BOOST_AUTO_TEST_CASE(of_threads_that_crash_at_once_one_is_told_whole) {
  for (int round = 0; round < 20; ++round) {
    Child child([](SlotRecord&) {
      std::barrier together(3);
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
          together.arrive_and_wait();
          write_null();
        });
      }
      for (std::thread& thread : threads) thread.join();
    });
    BOOST_TEST(child.ended_by() == SIGSEGV);
    BOOST_TEST(whole(child.crash()));
    BOOST_TEST(functions(child.crash()).at(0) == "write_null");
  }
}

BOOST_AUTO_TEST_CASE(a_crash_without_its_slot_still_ends_by_its_signal) {
  Child child([](SlotRecord& record) {
    const auto page = reinterpret_cast<std::uintptr_t>(&record) & ~std::uintptr_t{4095};
    munmap(reinterpret_cast<void*>(page), sizeof record);
    write_null();
  });
  BOOST_TEST(child.ended_by() == SIGSEGV);
}

BOOST_AUTO_TEST_CASE(a_spinning_process_tells_where_it_is_and_goes_on) {
  Child child([](SlotRecord& record) { std::thread(spin_until_killed, std::ref(record)).detach(), spin(); });
  BOOST_REQUIRE(eventually([&] { return child.record().ready.load() == 1; }));

  for (std::uint32_t number = 1; number <= 20; ++number) {
    const auto dump = child.dump(number);
    BOOST_REQUIRE(dump);
    BOOST_TEST(dump->request == number);
    BOOST_TEST(dump->signal == 0);
    BOOST_TEST(begins_with_pc(*dump));
  }
  CHECK_CALLS(*child.dump(21), {"spin"});
  const std::uint64_t before = child.record().processed.load();
  BOOST_TEST(eventually([&] { return child.record().processed.load() > before + 1000; }));
  BOOST_TEST(!read_stack(child.record().crash).any());
}

BOOST_AUTO_TEST_CASE(a_sleeping_process_tells_where_it_is_and_sleeps_on) {
  Child child([](SlotRecord& record) {
    record.processed.store(1);
    sleep_long();
  });
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() == 1; }));
  const auto sleeps = [&] {
    const auto dump = child.dump(3);
    const auto names = dump ? functions(*dump) : std::vector<std::string>();
    return std::find(names.begin(), names.end(), "sleep_long") != names.end();
  };
  BOOST_TEST(eventually(sleeps));
  BOOST_TEST(sleeps());
  BOOST_TEST(waitpid(child.pid(), nullptr, WNOHANG) == 0);
}

BOOST_AUTO_TEST_CASE(dumps_inside_malloc_and_the_dynamic_linker_harm_nobody) {
  Child child([](SlotRecord& record) {
    for (;;) {
      errno = EDOM;
      std::vector<std::string> texts;
      for (int i = 0; i < 20; ++i) texts.emplace_back(static_cast<std::size_t>(100 + 997 * i), 'x');
      if (void* library = dlopen("libanl.so.1", RTLD_NOW)) dlclose(library);
      for (const std::string& text : texts)
        if (text.back() != 'x') _exit(1);
      record.processed.fetch_add(1);
    }
  });
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() > 0; }));

  for (std::uint32_t number = 1; number <= 200; ++number) BOOST_REQUIRE(child.dump(number));

  const std::uint64_t before = child.record().processed.load();
  BOOST_TEST(eventually([&] { return child.record().processed.load() > before; }));
}

BOOST_AUTO_TEST_CASE(a_process_that_holds_the_lock_of_the_dynamic_linker_tells_where_it_is) {
  const auto hold_and_spin = [](SlotRecord& record) {
    dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void* argument) {
          static_cast<SlotRecord*>(argument)->processed.store(1);
          spin();
          return 0;
        },
        &record);
  };
  Child child(hold_and_spin);
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() == 1; }));
  const auto dump = child.dump(1);
  BOOST_REQUIRE(dump);
  const auto names = functions(*dump);
  BOOST_TEST((std::find(names.begin(), names.end(), "dl_iterate_phdr") != names.end()), text(names));

  kill(child.pid(), SIGABRT);

  BOOST_TEST(child.ended_by() == SIGABRT);
  BOOST_TEST(whole(child.crash()));
}

// A broken stack that its job would still repair: to look at it must not be the end.
JOB_CODE void spin_on_a_smashed_stack(SlotRecord& record) {
  auto* const frame = static_cast<volatile std::uint64_t*>(__builtin_frame_address(0));
  const std::uint64_t caller = frame[0], return_address = frame[1];
  frame[0] = 0x4141414141414141;
  frame[1] = 0x4141414141414141;
  record.processed.store(1);
  while (record.failed.load() == 0) {
  }
  frame[0] = caller;
  frame[1] = return_address;
}

BOOST_AUTO_TEST_CASE(a_dump_of_a_broken_stack_harms_nobody) {
  Child child([](SlotRecord& record) {
    spin_on_a_smashed_stack(record);
    _exit(21);
  });
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() == 1; }));

  for (std::uint32_t number = 1; number <= 5; ++number) {
    const auto dump = child.dump(number);
    BOOST_REQUIRE(dump);
    BOOST_TEST(begins_with_pc(*dump));
  }
  child.record().failed.store(1);
  BOOST_TEST(child.exit_status() == 21);
}

BOOST_AUTO_TEST_CASE(a_dump_keeps_errno) {
  Child child([](SlotRecord& record) {
    const rlimit no_descriptors{0, 0};  // so that the handler has a call that fails
    setrlimit(RLIMIT_NOFILE, &no_descriptors);
    errno = EDOM;
    record.processed.store(1);
    while (record.failed.load() == 0) {
    }
    _exit(errno == EDOM ? 21 : 22);
  });
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() == 1; }));
  BOOST_TEST(child.dump(1).has_value());
  child.record().failed.store(1);
  BOOST_TEST(child.exit_status() == 21);
}

BOOST_AUTO_TEST_CASE(what_a_job_did_to_the_handlers_is_undone_after_it) {
  for (const Call how : {+[] { write_null(); }, +[] { static_cast<void>(dig(0)); }, +[] { throw_foreign(); }}) {
    Child child([how](SlotRecord&) {
      const ProcessState process_state;
      for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP, SIGTTIN})
        ::signal(signal, SIG_IGN);
      const stack_t none{nullptr, SS_DISABLE, 0};
      sigaltstack(&none, nullptr);
      std::set_terminate([] { _exit(1); });
      process_state.restore_own();
      process_state.restore_kernels();
      how();
    });
    BOOST_TEST(child.ended_by() != 0);
    BOOST_TEST(whole(child.crash()));
  }
}

namespace {

void run_example(JobRegistry& registry, const std::string& job_class) {
  perform(registry, Payload::parse(R"({"class":")" + job_class + R"(","args":[],"jid":"j"})"), "default", {});
}

void require_example(const CapturedStack& crash) {
  BOOST_TEST(whole(crash));
  BOOST_REQUIRE(!crash.modules.empty());
  BOOST_TEST(crash.modules[0].path.ends_with("/libexamples.so"), crash.modules[0].path);
  BOOST_TEST(crash.modules[0].build_id.size() == 40U);
  BOOST_TEST((crash.modules[0].begin <= crash.pc && crash.pc < crash.modules[0].end));
  const auto names = functions(crash);
  const auto in_perform = [](const std::string& name) { return name.starts_with("_ZN5brood7perform"); };
  BOOST_TEST(std::any_of(names.begin(), names.end(), in_perform), text(names));
}

const char* const examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_library_is_noted_with_path_and_build_id) {
  Child child([](SlotRecord&) {
    JobRegistry registry;
    registry.load(examples);
    note_libraries();
    run_example(registry, "Segfault");
  });
  BOOST_TEST(child.ended_by() == SIGSEGV);
  require_example(child.crash());
}

BOOST_AUTO_TEST_CASE(a_library_that_a_job_has_loaded_just_now_is_noted_too) {
  Child child([](SlotRecord&) {
    JobRegistry registry;
    registry.load(examples);
    run_example(registry, "Segfault");
  });
  BOOST_TEST(child.ended_by() == SIGSEGV);
  require_example(child.crash());
}

BOOST_AUTO_TEST_CASE(loading_a_library_leaves_the_terminate_handler_in_place) {
  Child child([](SlotRecord&) {
    JobRegistry registry;
    registry.load(examples);
    std::thread(throw_runtime_error).join();
  });
  BOOST_TEST(child.crash().thrown_type == "St13runtime_error");
}
