#pragma once

#include <cstddef>

#include "shared/config/config.hpp"
#include "supervisor/process/descriptor_limit.hpp"

namespace brood {

// Raises the limit for this many shards, and warns if that fails.  For one Redis the usual limit is enough.
DescriptorLimit raise_descriptor_limit(const Config& config, std::size_t shards);

// Throws std::runtime_error if a program that takes over could not have all the descriptors that it needs.
void require_descriptors(std::size_t workers, std::size_t shards);

}  // namespace brood
