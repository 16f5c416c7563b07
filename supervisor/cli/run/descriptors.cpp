#include "supervisor/cli/run/descriptors.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "shared/base/log.hpp"

namespace brood {
DescriptorLimit raise_descriptor_limit(const Config& config, std::size_t shards) {
  const std::size_t needed = descriptors_needed(static_cast<std::size_t>(config.concurrency()), shards);
  const DescriptorLimit limit(needed);
  if (limit.now() < needed)
    log::warn(
        "few_descriptors",
        {{"needed", needed}, {"limit", limit.now()}, {"hint", "LimitNOFILE of the service, or ulimit -Hn, bounds it"}});
  return limit;
}

void require_descriptors(std::size_t workers, std::size_t shards) {
  const std::size_t needed = descriptors_needed(workers, shards), limit = DescriptorLimit(needed).now();
  if (limit < needed)
    throw std::runtime_error(fmt::format("a takeover needs {} descriptors, and the limit is {}", needed, limit));
}

}  // namespace brood
