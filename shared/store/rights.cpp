#include "shared/store/rights.hpp"

#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"

namespace brood {

namespace scripts {
extern const Script try_rights;
}

Command probe_of_rights(const std::vector<std::string>& queues) {
  ScriptCall call{&scripts::try_rights, {}, {keys::in_flight_hash("~")}};
  for (const std::string& queue : queues) call.args.push_back(keys::queue(queue));
  return call.eval();
}

}  // namespace brood
