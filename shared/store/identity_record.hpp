#pragma once

#include <optional>
#include <string>

#include "shared/base/identity.hpp"

namespace brood {

// What the hash brood:processes says of a supervisor: JSON, its members as in Identity, and its "schema".
std::string identity_record(const Identity& identity);

// The supervisor `name` by its record.  Nullopt for what is no such record, or one that lacks the process: whoever is
// not understood is left alone.
std::optional<Identity> parse_identity_record(const std::string& name, const std::string& record);

}  // namespace brood
