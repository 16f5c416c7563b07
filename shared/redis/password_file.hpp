#pragma once

#include <optional>
#include <string>

#include "shared/base/secret.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// The first line of the file; nullopt when it cannot be read or is empty.
std::optional<Secret> read_password_file(const std::string& path);

// By which somebody logs in now: what its file holds, so that a password may be changed while brood runs.  While the
// file is away, what it held before.
Secret password_now(const RedisAddress& address);

}  // namespace brood
