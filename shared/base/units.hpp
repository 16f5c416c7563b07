#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brood {

// "25s", "2m", "180d", "1h30m", "500ms", "1.5s"; a bare number is seconds.  nullopt for anything else: a sign, an
// unknown unit, white space, or more than three hundred years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// A duration for people to read, in its two largest units: "2m5s", "3d4h", "250ms".
std::string duration_text(std::chrono::milliseconds duration);

// "512M", "2G", "64K", "1T" (powers of 1024); a bare number is bytes.  nullopt for anything else.
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace brood
