#pragma once

#include <optional>
#include <string>

namespace brood {

// Returns why the dynamic linker must not load this file; nullopt if it may.  The linker trusts the sizes in the file:
// it crashes on a file that a copy in progress or a full disk has cut short.
std::optional<std::string> flaw_of_shared_object(const std::string& path);

}  // namespace brood
