#include "shared/scoreboard/stack_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>

#include "shared/base/signal_names.hpp"

namespace brood {
namespace {

template <std::size_t size>
std::string text_in(const char (&from)[size]) {
  return {from, strnlen(from, size)};
}

std::string hex(const std::uint8_t* bytes, std::size_t size) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

CapturedStack read_stack(const StackRecord& record) {
  CapturedStack stack;
  const std::uint32_t state = record.state.load(std::memory_order_acquire);
  if (state == 0 || state > static_cast<std::uint32_t>(StackState::complete)) return stack;
  stack.state = static_cast<StackState>(state);
  stack.request = record.request.load();
  stack.signal = record.signal;
  stack.code = record.code;
  stack.exit_status = record.exit_status;
  stack.thread = record.thread;
  stack.address = record.address;
  stack.pc = record.pc;
  stack.sp = record.sp;
  stack.data_bytes = record.data_bytes;
  stack.thrown_type = text_in(record.thrown_type);
  stack.what = text_in(record.what);
  if (stack.state != StackState::complete) return stack;

  const auto frames = std::min<std::size_t>(record.frame_count, max_frames);
  stack.frames.assign(record.frames, record.frames + frames);
  const auto modules = std::min<std::size_t>(record.module_count, max_modules);
  for (std::size_t i = 0; i < modules; ++i) {
    const ModuleRecord& module = record.modules[i];
    const auto id_size = std::min<std::size_t>(module.build_id_size, std::size(module.build_id));
    stack.modules.push_back(
        {module.begin, module.end, module.bias, hex(module.build_id, id_size), text_in(module.path)});
  }
  return stack;
}

std::string describe_signal(const CapturedStack& stack) {
  std::string text = signal_name(stack.signal);
  const bool aborted_itself = stack.signal == SIGABRT && stack.code == SI_TKILL;
  const std::string code = signal_code_name(stack.signal, stack.code);
  if (!code.empty() && !aborted_itself) text += " (" + code + ")";
  if (signal_has_address(stack.signal, stack.code)) text += fmt::format(" at {:#x}", stack.address);
  return text;
}

void clear_stack(StackRecord& record) {
  record.state.store(0);
  record.request.store(0);
  record.signal = record.code = record.exit_status = record.thread = 0;
  record.address = record.pc = record.sp = record.data_bytes = 0;
  record.thrown_type[0] = record.what[0] = '\0';
  record.frame_count = record.module_count = 0;
}

namespace {

// The module in "#0 decode(Image&) at decode.cpp:42 (libjobs.so+0x1a2b, inlined)" or "#0 libjobs.so+0x1a2b [build id
// 1f2e...]"; empty: the frame lies in none.
std::string_view module_of(std::string_view line) {
  const std::size_t bracket = line.ends_with(')') ? line.rfind(" (") : line.npos;
  const std::size_t begin = bracket == line.npos ? line.find(' ') + 1 : bracket + 2;
  const std::size_t end = line.rfind("+0x");
  return end == line.npos || end < begin ? std::string_view() : line.substr(begin, end - begin);
}

}  // namespace

bool is_machinery(std::string_view module) {
  constexpr std::string_view runtime[] = {"libc.so",     "libstdc++.so",  "libgcc_s.so", "libm.so",    "libpthread.so",
                                          "ld-linux",    "linux-vdso.so", "[vdso]",      "libasan.so", "libubsan.so",
                                          "libtsan.so.", "libc++.so",     "libc++abi.so"};
  return module == "brood" || std::any_of(std::begin(runtime), std::end(runtime),
                                          [&](std::string_view name) { return module.starts_with(name); });
}

std::string top_line(const std::vector<std::string>& stack) {
  if (stack.empty()) return "";
  const auto own =
      std::find_if(stack.begin(), stack.end(), [](const std::string& line) { return !is_machinery(module_of(line)); });
  return own == stack.end() ? stack.front() : *own;
}

}  // namespace brood
