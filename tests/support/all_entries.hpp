#pragma once

#include <string>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

struct Entry {
  std::string key, payload;
};

// What all lists and sorted sets of a Redis hold, in one look: what one key says and what the next one says belong
// together.
std::vector<Entry> all_entries(Channel& redis);

}  // namespace brood
