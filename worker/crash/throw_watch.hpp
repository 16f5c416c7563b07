#pragma once

#include <cstdint>
#include <vector>

namespace brood {

// Notes where exceptions were thrown, for jobs that ask for it.  Every throw in this process, in any library and on any
// thread, runs the code of this class first.
//
// While an object of it exists, the stack of each throw is noted.  Without one a throw costs one check of a flag.  Only
// one object may exist at a time.
class ThrowWatch {
 public:
  ThrowWatch();
  ~ThrowWatch();
  ThrowWatch(const ThrowWatch&) = delete;
  ThrowWatch& operator=(const ThrowWatch&) = delete;

  // Returns the return addresses of the throw that made the exception at `object`, innermost first.  An exception that
  // was caught and thrown again is the same exception.  Empty: the throw was not noted, or many others were since.
  std::vector<std::uint64_t> stack_of(const void* object) const;
};

}  // namespace brood
