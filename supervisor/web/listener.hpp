#pragma once

#include <sys/types.h>

#include "shared/base/unique_fd.hpp"
#include "shared/config/http_endpoint.hpp"

namespace brood {

// Listens at `address`.  Replaces a predecessor's Unix socket unless a process still listens there.  Throws
// std::runtime_error.
UniqueFd listen_for_pages(const ListenAddress& address, mode_t mode);

}  // namespace brood
