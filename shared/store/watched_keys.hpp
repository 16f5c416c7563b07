#pragma once

#include <string>
#include <string_view>

namespace brood {

// The keys of whose changes a supervisor hears at once: it needs their names for this alone.
struct WatchedKeys {
  std::string schedule, paused, queues;
  std::string signals;  // to this process
};
WatchedKeys watched_keys(std::string_view identity);

}  // namespace brood
