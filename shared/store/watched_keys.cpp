#include "shared/store/watched_keys.hpp"

#include "shared/store/keys.hpp"

namespace brood {

WatchedKeys watched_keys(std::string_view identity) {
  return {std::string(keys::schedule), std::string(keys::paused), std::string(keys::queues), keys::signals(identity)};
}

}  // namespace brood
