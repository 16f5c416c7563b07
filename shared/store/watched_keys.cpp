#include "shared/store/watched_keys.hpp"

#include "shared/store/keys.hpp"

namespace brood {

WatchedKeys watched_keys(std::string_view identity) {
  return {keys::schedule,     keys::paused,          keys::brood_paused_classes, keys::queues,
          keys::brood_queues, keys::brood_processes, keys::brood_periodic_rules, keys::signals(identity)};
}

std::optional<std::string> queue_of(std::string_view key) {
  for (const bool of_tenants : {false, true}) {
    const std::string before = of_tenants ? keys::tenants("").name() : keys::queue("").name();
    if (!key.starts_with(before)) continue;
    const std::string_view name = key.substr(before.size());
    return of_tenants ? std::string(name) + "~*" : std::string(name);
  }
  return std::nullopt;
}

}  // namespace brood
