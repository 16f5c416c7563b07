#include "shared/store/rights.hpp"

#include "shared/store/gem_lock.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"

namespace brood {

namespace scripts {
extern const Script try_rights;
}

Command probe_of_rights(const std::vector<std::string>& queues) {
  Command probe{"EVAL", scripts::try_rights.text, "0", gem_locks_are_served() ? "1" : "", keys::in_flight_hash("~")};
  for (const FixedKey& key : {keys::retry, keys::schedule, keys::dead, keys::brood_processes, keys::gem_locks})
    probe.add(key);
  probe.add(keys::gem_lock("uniquejobs:~"));
  for (const std::string& queue : queues) probe.add(keys::queue(queue));
  return probe;
}

}  // namespace brood
