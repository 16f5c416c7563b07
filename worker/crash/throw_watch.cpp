#include "worker/crash/throw_watch.hpp"

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <typeinfo>

#include "shared/scoreboard/stack_record.hpp"

// This function replaces that of the C++ runtime: every loaded library finds the program's symbol first.
extern "C" [[noreturn]] __attribute__((visibility("default"))) void __cxa_throw(void* object, std::type_info* type,
                                                                                void (*destroy)(void*));

namespace brood {
namespace {

struct Throw {
  const void* object = nullptr;
  std::size_t count = 0;
  std::array<std::uint64_t, max_frames> frames{};
};

std::atomic<bool> watching{false};
std::mutex lock;
std::array<Throw, 64> throws;  // the last of this watch
std::size_t next = 0;

using CxaThrow = void (*)(void*, std::type_info*, void (*)(void*));

CxaThrow runtime_throw() {
  static const auto found = reinterpret_cast<CxaThrow>(dlsym(RTLD_NEXT, "__cxa_throw"));
  return found;
}
const CxaThrow found_early = runtime_throw();  // at start: the lookup might fail when memory has run out

struct Walk {
  Throw* into;
  bool begun = false;  // the walk is past the frames of this file
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const std::uint64_t pc = _Unwind_GetIP(context);
  if (!walk.begun) {
    walk.begun = _Unwind_GetRegionStart(context) == reinterpret_cast<std::uint64_t>(&__cxa_throw);
    return _URC_NO_REASON;
  }
  if (pc == 0 || walk.into->count == walk.into->frames.size()) return _URC_NORMAL_STOP;
  walk.into->frames[walk.into->count++] = pc;
  return _URC_NO_REASON;
}

// Notes the stack of a throw.  An exception at the address of an earlier one replaces the entry of the earlier one.
void note(const void* object) {
  Throw seen{.object = object};
  Walk walk{&seen};
  _Unwind_Backtrace(note_frame, &walk);
  const std::lock_guard guard(lock);
  auto entry = std::find_if(throws.begin(), throws.end(), [&](const Throw& one) { return one.object == object; });
  if (entry == throws.end()) entry = throws.begin() + static_cast<std::ptrdiff_t>(next++ % throws.size());
  *entry = seen;
}

}  // namespace

ThrowWatch::ThrowWatch() {
  {
    const std::lock_guard guard(lock);
    for (Throw& one : throws) one.object = nullptr;
  }
  watching.store(true);
}

ThrowWatch::~ThrowWatch() { watching.store(false); }

std::vector<std::uint64_t> ThrowWatch::stack_of(const void* object) const {
  if (object == nullptr) return {};
  const std::lock_guard guard(lock);
  for (const Throw& one : throws) {
    if (one.object == object) return {one.frames.begin(), one.frames.begin() + static_cast<std::ptrdiff_t>(one.count)};
  }
  return {};
}

}  // namespace brood

void __cxa_throw(void* object, std::type_info* type, void (*destroy)(void*)) {
  if (brood::watching.load(std::memory_order_relaxed)) brood::note(object);
  if (const auto go_on = brood::runtime_throw()) go_on(object, type, destroy);
  std::abort();
}
