#include "shared/base/shard_of_key.hpp"

#include "shared/base/digest.hpp"

namespace brood {

std::size_t shard_of_key(std::span<const std::string> names, std::string_view key, const std::vector<bool>& left_out) {
  std::size_t chosen = 0;
  std::string greatest;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i < left_out.size() && left_out[i]) continue;
    std::string digest = sha1_hex(std::string(names[i]).append(":").append(key));
    if (digest <= greatest) continue;
    greatest = std::move(digest);
    chosen = i;
  }
  return chosen;
}

}  // namespace brood
