#pragma once

#include <cstddef>

#include "shared/config/config.hpp"
#include "supervisor/process/descriptor_limit.hpp"

namespace brood {

// Raises the limit to what so many shards need, and warns where it cannot be raised so far.  With one Redis brood gets
// by on the limit that it is given.
DescriptorLimit raise_descriptor_limit(const Config& config, std::size_t shards);

// Throws std::runtime_error when a program that takes over could not have all the descriptors that it needs.
void require_descriptors(std::size_t workers, std::size_t shards);

}  // namespace brood
