#pragma once

#include <optional>
#include <string>

#include "shared/base/identity.hpp"

namespace brood {

// The value of a supervisor in the hash brood:processes: JSON, with the members of Identity and a "schema".
std::string identity_record(const Identity& identity);

// Reads the record of the supervisor `name`.  nullopt if it cannot be read or does not name the process: an unreadable
// supervisor is left alone.
std::optional<Identity> parse_identity_record(const std::string& name, const std::string& record);

}  // namespace brood
