#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/api.hpp>

#include "shared/redis/reply.hpp"

namespace brood {

// Members and scores in turn, as Redis answers with WITHSCORES.
std::vector<SetEntry> read_entries(ReplyView members_and_scores);
SetEntry read_entry(std::string_view member, std::string_view score);

// The order of a sorted set: by score, then by bytes.
bool comes_before(const SetEntry& a, const SetEntry& b);

// What ZSCAN's MATCH takes for the payloads that may be of this job.
std::string pattern_of_jid(std::string_view jid);

// The strings of a JSON array; what is none is left out.
std::vector<std::string> string_elements(std::optional<std::string_view> array);

}  // namespace brood
