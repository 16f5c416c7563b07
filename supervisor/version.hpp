#pragma once

#include <string_view>

namespace brood {

inline constexpr std::string_view version = BROOD_VERSION;

}  // namespace brood
