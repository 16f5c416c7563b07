#include "supervisor/cli/run/takeover.hpp"

#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "shared/base/paths.hpp"
#include "shared/config/redis_location.hpp"
#include "supervisor/cli/run/certificates.hpp"
#include "supervisor/cli/run/check_configuration.hpp"
#include "supervisor/cli/run/descriptors.hpp"
#include "supervisor/cli/run/private_directory.hpp"
#include "supervisor/cli/run/run_log.hpp"
#include "supervisor/redis/embedded_redis.hpp"
#include "supervisor/upgrade/handover_file.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

// Both are the addresses of all shards.  Pure.
std::string why_not_taken_over(const std::string& served, const std::string& wanted) {
  if (wanted.starts_with(served + " "))
    return "brood does not serve each of these shards yet: run `brood restart` first";
  std::vector<std::string> here = words_of(served), there = words_of(wanted);
  std::sort(here.begin(), here.end());
  std::sort(there.begin(), there.end());
  const bool lacks_some =
      here.size() > there.size() && std::includes(here.begin(), here.end(), there.begin(), there.end());
  return lacks_some ? "brood still serves a shard that is being removed: run `brood restart` first"
                    : "the address of Redis cannot change while brood runs: stop it and start it again";
}

}  // namespace

Handover take_handover(int descriptor) {
  Handover handover = read_handover(descriptor);
  if (handover.format != Handover::current_format)
    throw BadHandover(fmt::format("brood {} hands over in format {}, and this is {}, which reads {}", handover.version,
                                  handover.format, version, Handover::current_format));
  return handover;
}

void require_same_shards(const Handover& handover, const std::vector<RedisAddress>& shards) {
  std::string wanted;
  for (const RedisAddress& shard : those_there(shards))
    wanted += (wanted.empty() ? "" : " ") + shard.without_password();
  if (handover.redis != wanted) throw ConfigError(why_not_taken_over(handover.redis, wanted));
}

int rehearse(const Config& config, const std::vector<RedisAddress>& shards, const Handover& handover, int copy) {
  const int status = check_configuration(config, shards, Wanted::one_shard);
  if (status != EX_OK) return status;
  require_descriptors(handover.workers.size(), shards.size());
  RunLog(config).open();
  const std::string runtime = runtime_directory();
  make_private_directory(runtime);
  if (access(runtime.c_str(), W_OK | X_OK) != 0)
    throw std::runtime_error("files cannot be written in the runtime directory " + runtime);
  if (uses_embedded_redis(config.redis))
    EmbeddedRedis(state_directory(), embedded_socket_path(), config.redis.appendfsync);
  sign_rehearsal(copy);
  return EX_OK;
}

}  // namespace brood
