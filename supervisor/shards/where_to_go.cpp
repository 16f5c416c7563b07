#include "supervisor/shards/where_to_go.hpp"

#include <cstddef>

namespace brood {

int where_to_go(int first, const std::vector<ShardToServe>& shards) {
  int usable = -1;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::size_t next = (static_cast<std::size_t>(first) + i) % shards.size();
    if (!shards[next].is_usable) continue;
    if (shards[next].is_in_order) return static_cast<int>(next);
    if (usable < 0) usable = static_cast<int>(next);
  }
  return usable < 0 ? first : usable;
}

}  // namespace brood
