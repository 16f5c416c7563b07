#pragma once

#include <string_view>

#include "shared/redis/connection.hpp"

namespace brood {

// Of all hosts whose metrics are asked for, one tells what is true of the whole Redis: the first, for as long as it is
// asked at least every ninety seconds.  After that another is.
enum class MetricsTeller {
  we,
  another,
  unknown,  // nobody does, and our user may not write it down
};

// `name` is ours among all hosts.  A user who `may_not_take` it, as the answer was before, need not try again.  Throws
// ConnectionLost.
MetricsTeller take_turn_to_tell(Channel& redis, std::string_view name, bool may_not_take = false);

}  // namespace brood
