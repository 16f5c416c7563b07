#pragma once

#include <cstdint>
#include <vector>

namespace brood {

// Notes where exceptions were thrown, for jobs that ask for it: every throw in this process, in any library and on any
// thread, passes through here first.
//
// While it lives, the stack of each throw is noted; without it a throw costs one look at a flag.  One at a time.
class ThrowWatch {
 public:
  ThrowWatch();
  ~ThrowWatch();
  ThrowWatch(const ThrowWatch&) = delete;
  ThrowWatch& operator=(const ThrowWatch&) = delete;

  // The stack of the throw that made the exception which lies at `object`, innermost first, as return addresses; one
  // that was caught and thrown again is the same exception.  Empty: the throw was not noted, or many others were since.
  std::vector<std::uint64_t> stack_of(const void* object) const;
};

}  // namespace brood
