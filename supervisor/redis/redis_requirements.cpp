#include "supervisor/redis/redis_requirements.hpp"

#include <cstdio>

namespace brood {
namespace {

std::string line_of(std::string_view info, std::string_view name) {
  std::size_t at = 0;
  while (at < info.size()) {
    const std::size_t end = std::min(info.find('\n', at), info.size());
    std::string_view line = info.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.size() > name.size() && line.substr(0, name.size()) == name && line[name.size()] == ':')
      return std::string(line.substr(name.size() + 1));
    at = end + 1;
  }
  return "";
}

}  // namespace

std::string why_no_master(std::string_view info) {
  if (line_of(info, "role") == "slave") return "this Redis is a replica, not the master";
  if (line_of(info, "loading") == "1") return "this Redis is loading its data";
  return "";
}

RedisFitness judge_redis(std::string_view info) {
  RedisFitness fitness;
  fitness.version = line_of(info, "redis_version");
  int major = 0, minor = 0;
  // An INFO without a version (renamed, or a proxy) is believed to be recent, as Sidekiq does.
  if (std::sscanf(fitness.version.c_str(), "%d.%d", &major, &minor) >= 1 && (major < 6 || (major == 6 && minor < 2)))
    fitness.refusal = "this is Redis " + fitness.version + "; brood needs 6.2 or later";
  if (line_of(info, "redis_mode") == "cluster")
    fitness.refusal =
        "this Redis runs in cluster mode, which cannot hold Sidekiq's keys: they are used together and lie in "
        "different slots";
  fitness.not_now = why_no_master(info);
  const std::string policy = line_of(info, "maxmemory_policy");
  if (!policy.empty() && policy != "noeviction")
    fitness.warning = "maxmemory-policy is " + policy + ": Redis may evict jobs; set it to noeviction";
  return fitness;
}

}  // namespace brood
