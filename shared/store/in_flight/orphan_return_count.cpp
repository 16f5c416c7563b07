#include "shared/store/in_flight/orphan_return_count.hpp"

#include "shared/base/digest.hpp"
#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script orphan_return_count;
}

ScriptCall orphan_return_count(const std::string& payload) {
  return {&scripts::orphan_return_count, {keys::brood_recovered(sha1_hex(payload))}, {}};
}

}  // namespace brood
