#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/reply.hpp"

namespace brood {

inline constexpr std::string_view scan_begins = "0";  // the first position of every scan

// What one SCAN, SSCAN or ZSCAN answered.
struct ScanPage {
  std::string next;  // where the next page is; "0": this was the last
  ReplyView found;   // an array, as long as the reply lives
};
inline ScanPage read_scan(ReplyView reply) { return {std::string(reply[0].text()), reply[1]}; }

}  // namespace brood
