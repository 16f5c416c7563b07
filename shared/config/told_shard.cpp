#include "shared/config/told_shard.hpp"

#include <cstdlib>

namespace brood {
namespace {

constexpr const char* shard_variable = "BROOD_REDIS_SHARD";

}  // namespace

void tell_shard(const std::string& name) {
  if (name.empty())
    unsetenv(shard_variable);
  else
    setenv(shard_variable, name.c_str(), 1);
}

std::string told_shard(const Environment& environment) {
  const char* const told = environment(shard_variable);
  return told ? told : "";
}

}  // namespace brood
