#pragma once

#include <optional>
#include <string>

namespace brood {

// Why the dynamic linker must not be given this file; nullopt when it may.  It trusts what a file says of its own size:
// of one that was cut short, by a copy in progress or a full disk, it dies.
std::optional<std::string> flaw_of_shared_object(const std::string& path);

}  // namespace brood
