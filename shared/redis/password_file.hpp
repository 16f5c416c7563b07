#pragma once

#include <optional>
#include <string>

#include "shared/base/secret.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// The first line of the file; nullopt when it cannot be read or is empty.
std::optional<Secret> read_password_file(const std::string& path);

// The password to log in with now: the content of its file, so that a password can be changed while brood runs.  If the
// file is missing, its last content.
Secret password_now(const RedisAddress& address);

}  // namespace brood
