#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/sets/set_entries.hpp"

namespace brood {

// The three sets of jobs, as `set_key` of the functions here and in set_entries.hpp.
extern const std::string_view scheduled_set, retry_set, dead_set;

Command ask_set_size(std::string_view set_key);  // answers an integer

// Entries by their ranks, from the lowest score or from the highest.
Command ask_entries_at(std::string_view set_key, std::string_view first, std::string_view last, bool highest_first);
Command ask_last_entry(std::string_view set_key);
// The entries of these answers and of set_page(), valid as long as the reply.
std::vector<EntryAsRead> read_entries_as_read(ReplyView reply);

// Only the members, at most `most`, the highest scores first.
Command ask_highest_members(std::string_view set_key, std::size_t most);
std::vector<std::string_view> read_members(ReplyView reply);  // empty if the key is no set

// One page of an unordered walk through the members that match a glob pattern; it looks at about `count` of them.
Command scan_set(std::string_view set_key, std::string_view position, std::string_view pattern, std::size_t count);
struct SetScan {
  std::string next;                       // position of the next page; "0": this was the last
  std::vector<std::string_view> members;  // valid as long as the reply
};
SetScan read_set_scan(ReplyView reply);

// The scores of members, as text that other commands write too; ZSCAN writes scores differently.
Command ask_scores(std::string_view set_key, std::span<const std::string_view> members);
std::vector<EntryAsRead> read_scores(std::span<const std::string_view> members,
                                     ReplyView reply);  // of those that exist

Command drop_set(std::string_view set_key);  // whatever the key holds

}  // namespace brood
