#include "shared/store/queues/set_aside.hpp"

#include "shared/base/planted_bug.hpp"
#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script return_set_aside;
}

ScriptCall return_set_aside(const std::string& aside, const std::string& home, std::int64_t most) {
  if (planted(PlantedBug::set_aside_jobs_are_forgotten)) most = 0;
  return {&scripts::return_set_aside,
          {keys::queue(aside), keys::queue(home), keys::brood_set_aside, keys::queues,
           keys::cap(aside.substr(aside.rfind('@') + 1))},
          {aside, std::to_string(most)}};
}

}  // namespace brood
