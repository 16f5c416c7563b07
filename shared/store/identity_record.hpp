#pragma once

#include <optional>
#include <string>

#include "shared/base/identity.hpp"

namespace brood {

// What the hash brood:processes says of a supervisor: JSON, with the members of Identity and a "schema".
std::string identity_record(const Identity& identity);

// Reads the record of the supervisor `name`.  Nullopt when it cannot be read or does not name the process: a supervisor
// that we do not understand is left alone.
std::optional<Identity> parse_identity_record(const std::string& name, const std::string& record);

}  // namespace brood
