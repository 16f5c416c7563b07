#pragma once

#include <string>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

struct Entry {
  std::string key, payload;
};

// What all lists and sorted sets of a Redis hold, read in one moment, so that what one key says fits to what the others
// say.
std::vector<Entry> all_entries(Channel& redis);

}  // namespace brood
