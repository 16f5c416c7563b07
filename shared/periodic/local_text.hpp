#pragma once

#include <chrono>
#include <string>

namespace brood {

// A moment as a clock shows it that is `ahead` of UTC: "2026-11-25 03:00:00 +01:00".
std::string local_text(std::chrono::sys_seconds moment, std::chrono::seconds ahead);

}  // namespace brood
