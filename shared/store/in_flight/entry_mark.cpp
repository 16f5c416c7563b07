#include "shared/store/in_flight/entry_mark.hpp"

#include "shared/base/digest.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr std::size_t largest_sent = 64 << 10;

}  // namespace

std::string entry_mark(std::string_view entry) {
  return entry.size() > largest_sent ? "#" + sha1_hex(entry) : "=" + std::string(entry);
}

namespace scripts {
extern const Script orphan_return_count;
}

ScriptCall orphan_return_count(const std::string& payload) {
  return {&scripts::orphan_return_count, {keys::brood_recovered(sha1_hex(payload))}, {}};
}

}  // namespace brood
