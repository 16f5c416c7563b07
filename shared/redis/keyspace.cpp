#include "shared/redis/keyspace.hpp"

#include <stdexcept>

namespace brood {

Keyspace::Keyspace(std::string prefix) : prefix_(std::move(prefix)) {
  if (prefix_.find_first_of("*?[]\\") != prefix_.npos)
    throw std::invalid_argument("a prefix of keys holds none of *?[]\\: " + prefix_);
}

std::optional<std::string_view> Keyspace::without_prefix(std::string_view key) const {
  if (!key.starts_with(prefix_)) return std::nullopt;
  return key.substr(prefix_.size());
}

}  // namespace brood
