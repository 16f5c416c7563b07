#pragma once

#include <cstdint>
#include <optional>

#include "shared/job/retry_decision.hpp"

namespace brood {

// Keeps the memory of a worker's jobs below memory_limit by RLIMIT_DATA, if no cgroup does.  Beyond the limit malloc
// returns null and new throws std::bad_alloc.  The limit is in force only while a job runs.  Between jobs the worker
// has a reserve above the limit, so that it can settle a failed job even if the job has left memory allocated.
class MemoryLimit {
 public:
  static constexpr std::uint64_t reserve_bytes = 64 << 20;

  // 0: no limit.  Else it lowers the hard limit, for this process and its children, for good.
  explicit MemoryLimit(std::uint64_t bytes);

  // The limit is in force while this object exists.
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

  // Returns the failure OutOfMemory for a std::bad_alloc under a limit; nullopt for any other failure.
  std::optional<Failure> judge(const Failure& failure) const;

  // False where the limit would count a sanitizer's shadow memory too; then no limit is ever in force.
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
