#include "shared/store/returns.hpp"

#include "shared/base/sha1.hpp"
#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script returns;
}

ScriptCall returns(const std::string& payload) {
  return {&scripts::returns, {}, {std::string(keys::brood_recovered_prefix), sha1_hex(payload)}};
}

}  // namespace brood
