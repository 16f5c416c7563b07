#include "shared/store/watched_keys.hpp"

#include "shared/store/keys.hpp"

namespace brood {

WatchedKeys watched_keys(std::string_view identity) {
  return {keys::schedule,         keys::paused,          keys::brood_paused_classes,
          keys::queues,           keys::brood_processes, keys::brood_periodic_rules,
          keys::signals(identity)};
}

std::optional<std::string_view> queue_of(std::string_view key) {
  const std::string before = keys::queue("").name();
  if (!key.starts_with(before)) return std::nullopt;
  return key.substr(before.size());
}

}  // namespace brood
