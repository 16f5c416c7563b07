#pragma once

#include <optional>
#include <string>

namespace brood {

// Why the dynamic linker must not be given this file; nullopt when it may.  The linker trusts what a file says of its
// own size: it crashes on one that was cut short, by a copy in progress or a full disk.
std::optional<std::string> flaw_of_shared_object(const std::string& path);

}  // namespace brood
