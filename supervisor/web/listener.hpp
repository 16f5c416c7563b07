#pragma once

#include <sys/types.h>

#include "shared/base/unique_fd.hpp"
#include "shared/config/http_endpoint.hpp"

namespace brood {

// A socket that listens there.  What a predecessor has left at the path of a Unix socket is replaced, unless somebody
// listens there still.  Throws std::runtime_error.
UniqueFd listen_for_pages(const ListenAddress& address, mode_t mode);

}  // namespace brood
