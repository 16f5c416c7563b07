#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "shared/base/check.hpp"

namespace brood {

// A number that this process shares with the children that it forks afterwards.
class SharedCount {
 public:
  SharedCount() {
    void* const memory =
        mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check("mmap", memory == MAP_FAILED ? -1 : 0);
    value_ = new (memory) std::atomic<std::uint64_t>(0);
  }
  ~SharedCount() { munmap(value_, sizeof *value_); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;

  std::atomic<std::uint64_t>& value() const { return *value_; }

  // Keeps the number from children that are forked from now on: untrusted code could change it.
  void keep_from_later_children() const { madvise(value_, sizeof *value_, MADV_DONTFORK); }

 private:
  std::atomic<std::uint64_t>* value_;
};

}  // namespace brood
