#include "worker/crash/stack_capture.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <csetjmp>
#include <cstdint>
#include <cstring>

namespace brood {
namespace {

// A walk along frame pointers ends at a frame that seems larger than this.
constexpr std::uint64_t largest_frame = 16 << 20;

#if defined(__x86_64__)
std::uint64_t pc_of(const ucontext_t& at) { return static_cast<std::uint64_t>(at.uc_mcontext.gregs[REG_RIP]); }
std::uint64_t sp_of(const ucontext_t& at) { return static_cast<std::uint64_t>(at.uc_mcontext.gregs[REG_RSP]); }
std::uint64_t fp_of(const ucontext_t& at) { return static_cast<std::uint64_t>(at.uc_mcontext.gregs[REG_RBP]); }
// Returns the return address of the function at pc, if none of its instructions has run yet.
std::uint64_t return_address(const ucontext_t& at) { return *reinterpret_cast<const std::uint64_t*>(sp_of(at)); }
// Makes `at` look as if the function had returned.  The pc is put inside the call instruction: the next instruction may
// belong to another function.
void step_out(ucontext_t& at, std::uint64_t to) {
  at.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(to - 1);
  at.uc_mcontext.gregs[REG_RSP] += sizeof(std::uint64_t);
}
// Makes `at` look as if the function whose frame pointer is `frame` had returned.
void step_out_of_frame(ucontext_t& at, std::uint64_t frame, std::uint64_t caller_frame, std::uint64_t to) {
  at.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(to - 1);
  at.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(frame + 2 * sizeof frame);
  at.uc_mcontext.gregs[REG_RBP] = static_cast<greg_t>(caller_frame);
}
#elif defined(__aarch64__)
std::uint64_t pc_of(const ucontext_t& at) { return at.uc_mcontext.pc; }
std::uint64_t sp_of(const ucontext_t& at) { return at.uc_mcontext.sp; }
std::uint64_t fp_of(const ucontext_t& at) { return at.uc_mcontext.regs[29]; }
std::uint64_t return_address(const ucontext_t& at) { return at.uc_mcontext.regs[30]; }
void step_out(ucontext_t& at, std::uint64_t to) { at.uc_mcontext.pc = to - 4; }
void step_out_of_frame(ucontext_t& at, std::uint64_t frame, std::uint64_t caller_frame, std::uint64_t to) {
  at.uc_mcontext.pc = to - 4;
  at.uc_mcontext.sp = frame + 2 * sizeof frame;
  at.uc_mcontext.regs[29] = caller_frame;
}
#else
std::uint64_t pc_of(const ucontext_t&) { return 0; }
std::uint64_t sp_of(const ucontext_t&) { return 0; }
std::uint64_t fp_of(const ucontext_t&) { return 0; }
std::uint64_t return_address(const ucontext_t&) { return 0; }
void step_out(ucontext_t&, std::uint64_t) {}
void step_out_of_frame(ucontext_t&, std::uint64_t, std::uint64_t, std::uint64_t) {}
#endif

thread_local sigjmp_buf* way_out = nullptr;

// Runs the step.  Returns false if a fault ended it.  The signal mask is not saved: every handler of a fault runs under
// the mask of the handler that it interrupts.
template <typename Step>
bool attempt(Step step) {
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    way_out = nullptr;
    return false;
  }
  way_out = &here;
  step();
  way_out = nullptr;
  return true;
}

// Returns an address within the call that returns to `frame`.  If the call is the last instruction of a segment, its
// return address lies in the next segment.  The innermost frame (number 0) is no return address.
std::uint64_t call_of(std::uint64_t frame, std::uint32_t number = 1) { return number == 0 ? frame : frame - 1; }

_Unwind_Reason_Code append(StackRecord& record, std::uint64_t frame) {
  if (frame == 0 || record.frame_count >= max_frames) return _URC_NORMAL_STOP;  // 0: the outermost has no caller
  record.frames[record.frame_count++] = frame;
  return _URC_NO_REASON;
}

// A walk of the unwinder.  The frames before `from` (a pc, or the entry of a function) are the handler's own.
struct Walk {
  StackRecord* record;
  std::uint64_t from;
  bool begun = false;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  int interrupted = 0;
  const std::uint64_t pc = _Unwind_GetIPInfo(context, &interrupted);
  if (walk.begun) return append(*walk.record, pc);
  walk.begun = pc == walk.from && interrupted != 0;
  return _URC_NO_REASON;
}

_Unwind_Reason_Code note_frame_from_function(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const std::uint64_t pc = _Unwind_GetIP(context);
  if (!walk.begun) {
    if (_Unwind_GetRegionStart(context) != walk.from) return _URC_NO_REASON;
    walk.begun = true;
    // Readers take pc as the address of an instruction, not as a return address.  After a call that never returns
    // another function may begin.
    walk.record->pc = pc - 1;
    walk.record->sp = _Unwind_GetCFA(context);
    append(*walk.record, walk.record->pc);
    return _URC_NO_REASON;
  }
  return append(*walk.record, pc);
}

void unwind(StackRecord& record, std::uint64_t from) {
  Walk walk{&record, from};
  attempt([&walk] { _Unwind_Backtrace(note_frame, &walk); });
}

// After a jump to an address without code, the unwinder finds no unwind information.  But the call that jumped has left
// its return address, so unwind as if the call had returned.
void unwind_from_caller(StackRecord& record, const ModuleMap& modules, ucontext_t& interrupted) {
  std::uint64_t caller = 0;
  attempt([&] { caller = return_address(interrupted); });
  if (caller == 0 || !modules.is_code(call_of(caller))) return;
  append(record, caller);
  const mcontext_t before = interrupted.uc_mcontext;
  step_out(interrupted, caller);
  unwind(record, pc_of(interrupted));
  interrupted.uc_mcontext = before;
}

// Walks along frame pointers: [fp] is the caller's frame pointer, and the return address follows it.  Job libraries are
// built with frame pointers.  As soon as the unwinder knows one of the callers, it continues from there.
void unwind_from_frame_pointers(StackRecord& record, const ModuleMap& modules, ucontext_t& interrupted) {
  const mcontext_t before = interrupted.uc_mcontext;
  std::uint64_t frame = fp_of(interrupted), lowest = sp_of(interrupted);
  while (frame % sizeof frame == 0 && frame >= lowest && frame - lowest < largest_frame) {
    std::uint64_t saved[2] = {};
    attempt([&] { std::memcpy(saved, reinterpret_cast<const void*>(frame), sizeof saved); });
    if (!modules.is_code(call_of(saved[1])) || append(record, saved[1]) != _URC_NO_REASON) break;
    const std::uint32_t count = record.frame_count;
    step_out_of_frame(interrupted, frame, saved[0], saved[1]);
    unwind(record, pc_of(interrupted));
    if (record.frame_count != count) break;
    lowest = frame + sizeof saved;
    frame = saved[0];
  }
  interrupted.uc_mcontext = before;
}

void note_modules(StackRecord& record, const ModuleMap& modules) {
  for (std::uint32_t i = 0; i < record.frame_count && record.module_count < max_modules; ++i) {
    const std::uint64_t frame = call_of(record.frames[i], i);
    bool noted = false;
    for (std::uint32_t m = 0; m < record.module_count && !noted; ++m)
      noted = record.modules[m].begin <= frame && frame < record.modules[m].end;
    if (!noted && modules.describe(frame, record.modules[record.module_count])) ++record.module_count;
  }
}

void complete(StackRecord& record, const ModuleMap& modules) {
  attempt([&] { note_modules(record, modules); });
  record.state.store(static_cast<std::uint32_t>(StackState::complete), std::memory_order_release);
}

// Returns the bytes of memory that count for RLIMIT_DATA: the sixth number of statm, which is in pages.
std::uint64_t measure_data() {
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[256];
  const ssize_t size = read(fd, text, sizeof text);
  close(fd);
  std::uint64_t pages = 0;
  int field = 0;
  for (ssize_t i = 0; i < size && field < 6; ++i) {
    if (text[i] == ' ') ++field;
    if (field == 5 && text[i] >= '0' && text[i] <= '9') pages = pages * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void begin_record(StackRecord& record) {
  record.state.store(static_cast<std::uint32_t>(StackState::none), std::memory_order_release);
  record.signal = record.code = record.exit_status = 0;
  record.address = record.pc = record.sp = 0;
  record.frame_count = record.module_count = 0;
  record.thread = static_cast<std::int32_t>(syscall(SYS_gettid));
  record.data_bytes = measure_data();
}

void end_header(StackRecord& record) {
  record.state.store(static_cast<std::uint32_t>(StackState::header), std::memory_order_release);
}

bool has_address(const siginfo_t& info) {
  switch (info.si_signo) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:  // it has si_call_addr at the place of si_addr
      return info.si_code > 0;
    default:
      return false;
  }
}

}  // namespace

void write_header(StackRecord& record, const siginfo_t* info, const ucontext_t& interrupted) {
  begin_record(record);
  if (info != nullptr) {
    record.signal = info->si_signo;
    record.code = info->si_code;
    if (has_address(*info)) record.address = reinterpret_cast<std::uint64_t>(info->si_addr);
  }
  record.pc = pc_of(interrupted);
  record.sp = sp_of(interrupted);
  end_header(record);
}

void write_exit_header(StackRecord& record, int status) {
  begin_record(record);
  record.exit_status = status;
  end_header(record);
}

void write_frames(StackRecord& record, const ModuleMap& modules, ucontext_t& interrupted) {
  const std::uint64_t pc = pc_of(interrupted);
  record.frames[0] = pc;  // it may be 0
  record.frame_count = 1;
  unwind(record, pc);
  const auto in_code = [&](std::uint32_t i) {
    bool found = false;
    attempt([&] { found = modules.is_code(call_of(record.frames[i], i)); });
    return found;
  };
  const std::uint32_t unwound = record.frame_count;
  if (unwound < 2 || (unwound == 2 && !in_code(1))) {
    record.frame_count = 1;
    unwind_from_caller(record, modules, interrupted);
    if (record.frame_count < 3) unwind_from_frame_pointers(record, modules, interrupted);
    // Even a wrong return address is of use if there is no better one.
    if (record.frame_count == 1) record.frame_count = unwound;
  }
  complete(record, modules);
}

void write_frames_from(StackRecord& record, const ModuleMap& modules, const void* function) {
  Walk walk{&record, reinterpret_cast<std::uint64_t>(function)};
  attempt([&walk] { _Unwind_Backtrace(note_frame_from_function, &walk); });
  complete(record, modules);
}

void end_faulty_step() {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
}

void prime_unwinder() {
  static StackRecord scratch;
  ModuleMap nothing;
  write_exit_header(scratch, 0);
  write_frames_from(scratch, nothing, reinterpret_cast<const void*>(&prime_unwinder));
}

}  // namespace brood
