#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

inline constexpr std::string_view scan_begins = "0";  // the first position of every scan

// The answer of one SCAN, SSCAN or ZSCAN.
struct ScanPage {
  std::string next;  // where the next page is; "0": this was the last
  ReplyView found;   // an array, valid as long as the reply
};
inline ScanPage read_scan(ReplyView reply) { return {std::string(reply[0].text()), reply[1]}; }

// Visits all keys of a shard that match a pattern, and have this type unless it is empty.  Gives `visit` their names
// without the shard's prefix, perhaps twice.  Scans all keys of that Redis.  Throws ConnectionLost or UnexpectedReply.
void for_each_key(Channel& redis, const RedisKey& pattern, std::string_view type,
                  const std::function<void(const std::string& name)>& visit);
// The same, until `visit` returns false.
void for_each_key_while(Channel& redis, const RedisKey& pattern, std::string_view type,
                        const std::function<bool(const std::string& name)>& visit);

// Reads a list of names, of processes or of fields, in the reply's order.  Throws UnexpectedReply.
std::vector<std::string> read_name_list(ReplyView reply);

// The same, but returns nullopt if Redis refuses, or the key has another type.
std::optional<std::vector<std::string>> read_name_list_if_told(ReplyView reply);

// A set of names that may be long, so it is read in pages, with read_scan().
class NamePages {
 public:
  static NamePages of_queues();
  static NamePages of_processes();  // also Ruby's, and those whose heartbeat has ended

  // A page of about `count` names; the first begins at scan_begins.
  Command ask(std::string_view position, std::size_t count) const;
  Command ask_kind() const;  // of the key, which may hold anything

 private:
  explicit constexpr NamePages(FixedKey key) : key_(key) {}
  FixedKey key_;
};

bool read_is_set(ReplyView kind);

}  // namespace brood
