#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// At most so many workers, of all machines of one Redis, hold jobs of these queues at a time.  No queue is in two caps.
struct CapSettings {
  std::string name;
  std::vector<std::string> queues;
  std::int64_t most = 1;

  bool covers(std::string_view queue) const { return std::find(queues.begin(), queues.end(), queue) != queues.end(); }
};

inline const CapSettings* cap_of(const std::vector<CapSettings>& caps, std::string_view queue) {
  const auto found = std::find_if(caps.begin(), caps.end(), [&](const CapSettings& cap) { return cap.covers(queue); });
  return found == caps.end() ? nullptr : &*found;
}

}  // namespace brood
