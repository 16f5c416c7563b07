#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/scoreboard/stack_record.hpp"

namespace brood {

// The program and the shared objects of this process, as of the last look.  The list is in read-only memory of its
// own, so a signal handler may rely on it even if a job has corrupted memory.  Copies share the list; the last one is
// never freed.
class ModuleMap {
 public:
  // A part of a module.  A module is not one range: other memory may lie in a gap between two of its segments.
  struct Segment {
    std::uint64_t begin, end;
    std::uint32_t module;  // its place in the list
    bool is_code;
  };

  // Looks again if anything was loaded or unloaded since the last look, which is cheap to ask.  True: it has looked.
  // Not for signal handlers.
  bool refresh();

  // The rest is async-signal-safe, and finds objects loaded after the last look too.
  bool is_code(std::uint64_t address) const;

  // The module that `address` lies in, with the bounds of that segment alone.  False: in none.
  bool describe(std::uint64_t address, ModuleRecord& record) const;

 private:
  const Segment* find(std::uint64_t address) const;

  const ModuleRecord* modules_ = nullptr;  // and behind them their segments, in the same memory
  const Segment* segments_ = nullptr;
  std::size_t count_ = 0, size_ = 0;              // of segments; of the memory
  unsigned long long loaded_ = 0, unloaded_ = 0;  // the dynamic linker's counts at the last look
};

}  // namespace brood
