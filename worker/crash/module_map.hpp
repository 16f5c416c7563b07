#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/scoreboard/stack_record.hpp"

namespace brood {

// The program and the shared objects of this process, as they were when it last looked.  The list is in read-only
// memory of its own, so that a signal handler may rely on it whatever a job has corrupted.  Copies share the list;
// nothing frees the last one.
class ModuleMap {
 public:
  struct Module {
    ModuleRecord record;
    std::uint64_t code_begin, code_end;  // its executable part
  };

  // Looks again if anything was loaded or unloaded since the last look, which is cheap to ask.  True: it has looked.
  // Not for signal handlers.
  bool refresh();

  // The rest is async-signal-safe.  nullptr: the address lies in no module.
  const Module* find(std::uint64_t address) const;
  bool is_code(std::uint64_t address) const;

  // The module that `address` lies in, also when it was loaded after the last look.  False: in none.
  bool describe(std::uint64_t address, ModuleRecord& record) const;

 private:
  const Module* modules_ = nullptr;
  std::size_t count_ = 0;
  unsigned long long loaded_ = 0, unloaded_ = 0;  // the dynamic linker's counts at the last look
};

}  // namespace brood
