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

}  // namespace brood
