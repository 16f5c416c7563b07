#pragma once

#include <string>

namespace brood {

// The build id of a program or shared object, in lower-case hex; empty if it has none.
std::string build_id_of(const std::string& path);

}  // namespace brood
