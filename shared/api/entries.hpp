#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/api.hpp>

#include "shared/redis/reply.hpp"

namespace brood {

// Reads the reply to set_page(), ask_entries_at() or ask_last_entry().
std::vector<SetEntry> read_entries(ReplyView reply);
SetEntry read_entry(std::string_view member, std::string_view score);

// The order of a sorted set: by score, then by bytes.
bool comes_before(const SetEntry& a, const SetEntry& b);

// A MATCH pattern for ZSCAN that finds the payloads that may be this job's.
std::string pattern_of_jid(std::string_view jid);

// The strings of a JSON array; other elements are left out.
std::vector<std::string> string_elements(std::optional<std::string_view> array);

}  // namespace brood
