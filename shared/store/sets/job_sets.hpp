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

// The three sets of jobs: each is `set_key` to the functions here and in set_entries.hpp.
extern const std::string_view scheduled_set, retry_set, dead_set;

Command ask_set_size(std::string_view set_key);  // answers an integer

// Entries by their places in the order of scores, the lowest first or the highest.
Command ask_entries_at(std::string_view set_key, std::string_view first, std::string_view last, bool highest_first);
Command ask_last_entry(std::string_view set_key);
// The entries of these answers and of set_page(), as long as the reply lives.
std::vector<EntryAsRead> read_entries_as_read(ReplyView reply);

// The members alone, those of the highest scores first; at most `most`.
Command ask_highest_members(std::string_view set_key, std::size_t most);
std::vector<std::string_view> read_members(ReplyView reply);  // none where the key is no set

// One page of a walk, unordered, of the members that fit a glob pattern; it looks at about `count` of them.
Command scan_set(std::string_view set_key, std::string_view position, std::string_view pattern, std::size_t count);
struct SetScan {
  std::string next;                       // position of the next page; "0": this was the last
  std::vector<std::string_view> members;  // as long as the reply lives
};
SetScan read_set_scan(ReplyView reply);

// Scores as other commands spell them: ZSCAN spells them differently.
Command ask_scores(std::string_view set_key, std::span<const std::string_view> members);
std::vector<EntryAsRead> read_scores(std::span<const std::string_view> members, ReplyView reply);  // of those there

Command drop_set(std::string_view set_key);  // whatever the key holds

}  // namespace brood
