#include "supervisor/shards/where_to_go.hpp"

#include <cstddef>

namespace brood {

int where_to_go(int first, const std::vector<ShardToServe>& shards) {
  int usable = -1, there = -1;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::size_t next = (static_cast<std::size_t>(first) + i) % shards.size();
    if (!shards[next].is_there) continue;
    if (there < 0) there = static_cast<int>(next);
    if (!shards[next].is_usable) continue;
    if (shards[next].is_in_order) return static_cast<int>(next);
    if (usable < 0) usable = static_cast<int>(next);
  }
  if (usable >= 0) return usable;
  return there < 0 ? first : there;
}

}  // namespace brood
