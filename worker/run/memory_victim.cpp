#include "worker/run/memory_victim.hpp"

#include <utility>

#include "shared/base/log.hpp"

namespace brood {

Failure out_of_memory(std::string message) {
  Failure failure;
  failure.error_class = "OutOfMemory";
  failure.message = std::move(message);
  return failure;
}

std::optional<Failure> failure_of_victim(const Payload& job, std::uint64_t peak_kb, std::uint64_t share_bytes) {
  if (share_bytes > 0 && peak_kb > share_bytes / 1024)
    return out_of_memory(
        "out of memory: the kernel ended it when the host had none left, and it had more than its share");
  log::warn("job_given_back",
            {{"jid", job.jid()},
             {"class", job.display_class()},
             {"reason", "the kernel ended it when the host had no memory left, and it had no more than its share"}});
  return std::nullopt;
}

}  // namespace brood
