#include "worker/crash/crash_handler.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/crashing_child.hpp"
#include "tests/support/eventually.hpp"
#include "worker/guard/process_state.hpp"

using namespace brood;
using namespace brood::crashing_child;
using namespace std::chrono_literals;

namespace {

// Where nothing is mapped.
const Call nowhere = reinterpret_cast<Call>(0x1000);
// No address that the processor knows.
const Call no_address = reinterpret_cast<Call>(0x4141414141414141);

}  // namespace

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

JOB_CODE void free_twice() {
  char* volatile memory = static_cast<char*>(std::malloc(24));
  char* volatile again = memory;
  std::free(memory);
  std::free(again);
}

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
  link_map* map = nullptr;  // not dli_fbase: a program may have an address of its own
  BOOST_REQUIRE(
      dladdr1(reinterpret_cast<const void*>(&write_null), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0);
  BOOST_TEST(program.bias == map->l_addr);
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
// As often in assembler code: nothing tells the unwinder how to leave it.
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

BOOST_AUTO_TEST_CASE(one_of_several_threads_that_crash_at_once_is_told_whole) {
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
