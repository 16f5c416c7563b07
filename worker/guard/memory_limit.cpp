#include "worker/guard/memory_limit.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "shared/base/log.hpp"
#include "worker/guard/own_memory.hpp"

namespace brood {

MemoryLimit::MemoryLimit(std::uint64_t bytes) : bytes_(works() ? bytes : 0) {
  if (bytes > 0 && !works())
    log::warn("memory_limit_without_effect", {{"reason", "this brood is built with a sanitizer"}});
  if (!in_force()) return;
  // A worker that uses more than the limit before its first job must still be able to report that.
  with_reserve_ = std::max(bytes_, read_own_memory().data_bytes) + reserve_bytes;
  rlimit given{};
  getrlimit(RLIMIT_DATA, &given);
  with_reserve_ = std::min<std::uint64_t>(with_reserve_, given.rlim_max);
  const rlimit ours{with_reserve_, with_reserve_};
  if (setrlimit(RLIMIT_DATA, &ours) != 0) {
    log::warn("memory_limit_without_effect", {{"reason", std::generic_category().message(errno)}});
    bytes_ = 0;
  }
}

MemoryLimit::Imposed::Imposed(const MemoryLimit& limit) : limit_(limit) {
  limit_.set_soft_limit(std::min(limit_.bytes_, limit_.with_reserve_));
}
MemoryLimit::Imposed::~Imposed() { limit_.set_soft_limit(limit_.with_reserve_); }

void MemoryLimit::set_soft_limit(std::uint64_t bytes) const {
  if (!in_force()) return;
  const rlimit limit{bytes, with_reserve_};
  setrlimit(RLIMIT_DATA, &limit);
}

std::optional<Failure> MemoryLimit::judge(const Failure& failure) const {
  // The name stays mangled when there is no memory to demangle it.
  const bool refused = failure.error_class == "std::bad_alloc" || failure.error_class == "St9bad_alloc";
  if (!in_force() || !refused) return std::nullopt;
  Failure out_of_memory = failure;
  out_of_memory.error_class = "OutOfMemory";
  out_of_memory.message = fmt::format("std::bad_alloc: over the memory_limit of {} MB", bytes_ >> 20);
  return out_of_memory;
}

}  // namespace brood
