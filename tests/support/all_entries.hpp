#pragma once

#include <string>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

struct Entry {
  std::string key, payload;
};

// The entries of all lists and sorted sets of a Redis.  One script reads them, so they are consistent.
std::vector<Entry> all_entries(Channel& redis);

}  // namespace brood
