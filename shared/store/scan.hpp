#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

inline constexpr std::string_view scan_begins = "0";  // the first position of every scan

// What one SCAN, SSCAN or ZSCAN answered.
struct ScanPage {
  std::string next;  // where the next page is; "0": this was the last
  ReplyView found;   // an array, as long as the reply lives
};
inline ScanPage read_scan(ReplyView reply) { return {std::string(reply[0].text()), reply[1]}; }

// Visits all keys of a shard that fit a pattern, and are of a type if one is named, by their names without its prefix:
// perhaps twice.  Looks through all keys of that Redis.  Throws ConnectionLost or UnexpectedReply.
void for_each_key(Channel& redis, const RedisKey& pattern, std::string_view type,
                  const std::function<void(const std::string& name)>& visit);
// The same, until `visit` returns false.
void for_each_key_while(Channel& redis, const RedisKey& pattern, std::string_view type,
                        const std::function<bool(const std::string& name)>& visit);

}  // namespace brood
