#include "shared/store/in_flight/entry_mark.hpp"

#include "shared/base/digest.hpp"

namespace brood {
namespace {

constexpr std::size_t largest_sent = 64 << 10;

}  // namespace

std::string entry_mark(std::string_view entry) {
  return entry.size() > largest_sent ? "#" + sha1_hex(entry) : "=" + std::string(entry);
}

}  // namespace brood
