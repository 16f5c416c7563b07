#pragma once

#include <cstdint>
#include <optional>

#include "shared/job/retry_decision.hpp"

namespace brood {

// Keeps the memory of a worker's jobs below memory_limit by RLIMIT_DATA, if no cgroup does: beyond the limit malloc
// returns null and new throws std::bad_alloc.  It holds only while a job runs.  Between jobs the worker has a reserve
// above the limit, so that it can settle a failed job even if that left memory behind.
class MemoryLimit {
 public:
  static constexpr std::uint64_t reserve_bytes = 64 << 20;

  // 0: no limit.  Lowers the hard limit, for this process and its children, for good.
  explicit MemoryLimit(std::uint64_t bytes);

  // While it lives, the limit holds.
  class Imposed {
   public:
    explicit Imposed(const MemoryLimit& limit);
    ~Imposed();
    Imposed(const Imposed&) = delete;
    Imposed& operator=(const Imposed&) = delete;

   private:
    const MemoryLimit& limit_;
  };
  Imposed impose() const { return Imposed(*this); }

  bool in_force() const { return bytes_ > 0; }

  // A std::bad_alloc under a limit as an OutOfMemory; nullopt: `failure` is something else.
  std::optional<Failure> judge(const Failure& failure) const;

  // False where a sanitizer's shadow would be counted too: then no limit is ever in force.
  static constexpr bool works() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
  }

 private:
  void set_soft_limit(std::uint64_t bytes) const;

  std::uint64_t bytes_;
  std::uint64_t with_reserve_ = 0;
};

}  // namespace brood
