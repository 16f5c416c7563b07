#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

inline constexpr int max_frames = 96;
inline constexpr int max_modules = 16;

// A program or shared object that some frame lies in.  Its path is cut to fit.
struct ModuleRecord {
  std::uint64_t begin, end;  // where the segment is mapped that the frame lies in
  std::uint64_t bias;        // address in memory minus address in the file
  std::uint8_t build_id[20];
  std::uint32_t build_id_size;  // 0: it has none
  char path[256];
};

enum class StackState : std::uint32_t {
  none,
  header,    // all but the frames, which are being collected, unless the process has ended
  complete,  // with the frames
};

// Where one thread of a worker was: its last words when it crashed, or an answer to a dump.  Lies in shared memory and
// is written by a signal handler that may allocate nothing: fixed sizes, no pointers.  Other processes read the plain
// members only once `state` is set, or the writer is dead.
struct StackRecord {
  std::atomic<std::uint32_t> state;    // StackState
  std::atomic<std::uint32_t> request;  // a dump: the request that it answers

  std::int32_t signal;       // 0: no signal, the process left by exit()
  std::int32_t code;         // si_code
  std::int32_t exit_status;  // of exit()
  std::int32_t thread;       // kernel thread id
  std::uint64_t address;     // si_addr
  std::uint64_t pc, sp;
  std::uint64_t data_bytes;  // what counts for RLIMIT_DATA, 0: not known

  char thrown_type[256];  // std::terminate: mangled type of the exception; empty: there was none
  char what[512];         // its what()

  std::uint32_t frame_count;
  std::uint64_t frames[max_frames];  // innermost first; the first is `pc`, the others return addresses
  std::uint32_t module_count;
  ModuleRecord modules[max_modules];
};

// A copy of a record that is safe to use: every count, text and range is bounded, whatever a job wrote there.
struct CapturedStack {
  struct Module {
    std::uint64_t begin = 0, end = 0, bias = 0;
    std::string build_id;  // lower-case hex
    std::string path;
  };
  StackState state = StackState::none;
  std::uint32_t request = 0;
  int signal = 0, code = 0, exit_status = 0, thread = 0;
  std::uint64_t address = 0, pc = 0, sp = 0, data_bytes = 0;
  std::string thrown_type, what;
  std::vector<std::uint64_t> frames;
  std::vector<Module> modules;

  bool any() const { return state != StackState::none; }
};

CapturedStack read_stack(const StackRecord& record);

// A signal with its code and address: "SIGSEGV (SEGV_MAPERR) at 0x10".
std::string describe_signal(const CapturedStack& stack);

// Clears a record.  Call it before the slot gets its next occupant.
void clear_stack(StackRecord& record);

// Whether a module is the C or C++ runtime or brood itself, by the name of its file.  Frames there, such as abort(),
// are not the job's own code.
bool is_machinery(std::string_view module);

// The innermost line of a crash's stack that is the job's own code; the first line if none is; empty if there is no
// line.
std::string top_line(const std::vector<std::string>& stack);

}  // namespace brood
