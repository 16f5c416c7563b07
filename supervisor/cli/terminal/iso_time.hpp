#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"

namespace brood {

// ISO 8601: "2026-12-01T08:00:00Z", "2026-12-01 08:00", "2026-12-01T08:00:00.5+01:00"; without a zone it is local time.
// Returns nullopt for anything else, including impossible dates.
std::optional<WallTime> parse_iso_time(std::string_view text);

// "2026-12-01T08:00:00Z", to the second.
std::string iso_time(WallTime t);

}  // namespace brood
