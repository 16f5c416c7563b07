#include "supervisor/redis/own_keys.hpp"

#include <algorithm>
#include <utility>

namespace brood {

OwnKeys own_keys(const std::vector<CapsuleSettings>& capsules, std::string identity) {
  OwnKeys own{.identity = std::move(identity)};
  const auto add = [&](const std::string& queue) {
    if (std::find(own.queues.begin(), own.queues.end(), queue) == own.queues.end()) own.queues.push_back(queue);
  };
  for (const CapsuleSettings& capsule : capsules) {
    for (const std::string& queue : capsule.queues.names()) {
      add(queue.substr(0, queue.find('!')));  // of a pattern, the part before its exclusions
      for (const std::string& aside : asides_of(capsule.caps, queue)) add(aside);
    }
  }
  return own;
}

}  // namespace brood
