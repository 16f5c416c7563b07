#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/scoreboard/stack_record.hpp"

namespace brood {

// The program and the shared objects of this process at the last refresh().  The list is in read-only memory of its
// own, so a signal handler may rely on it even if a job has corrupted memory.  Copies share the list.  The last list is
// never freed.
class ModuleMap {
 public:
  // A part of a module.  A module may be several ranges: other memory may lie in a gap between two of its segments.
  struct Segment {
    std::uint64_t begin, end;
    std::uint32_t module;  // its index in the list
    bool is_code;
  };

  // Makes the list anew if a module was loaded or unloaded since the last call.  That check is cheap.  Returns whether
  // it has made the list anew.  Do not call it in a signal handler.
  bool refresh();

  // The rest is async-signal-safe, and also finds objects loaded after the last refresh().
  bool is_code(std::uint64_t address) const;

  // Describes the module that `address` lies in, with the bounds of that segment alone.  Returns false if the address
  // lies in no module.
  bool describe(std::uint64_t address, ModuleRecord& record) const;

 private:
  const Segment* find(std::uint64_t address) const;

  const ModuleRecord* modules_ = nullptr;  // their segments follow them in the same memory
  const Segment* segments_ = nullptr;
  std::size_t count_ = 0, size_ = 0;              // the number of segments; the bytes of the memory
  unsigned long long loaded_ = 0, unloaded_ = 0;  // the dynamic linker's counts at the last refresh()
};

}  // namespace brood
