#include "shared/store/watched_keys.hpp"

#include "shared/store/keys.hpp"

namespace brood {

WatchedKeys watched_keys(std::string_view identity) {
  return {keys::schedule, keys::paused,          keys::brood_paused_classes,
          keys::queues,   keys::brood_processes, keys::signals(identity)};
}

}  // namespace brood
