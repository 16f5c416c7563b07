#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/redis/reply.hpp"

namespace brood {

// A reply that lists names, of processes or of fields, in its order.  Throws UnexpectedReply.
std::vector<std::string> read_name_list(ReplyView reply);

// The same where Redis may not tell: nullopt when it refuses, or the key is of another type.
std::optional<std::vector<std::string>> read_name_list_if_told(ReplyView reply);

}  // namespace brood
