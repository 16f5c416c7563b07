#include "supervisor/cli/access/api_access.hpp"

#include "shared/api/opening.hpp"
#include "shared/config/config.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

Api open_api(const RedisAccess& access) {
  const Config config = access.configuration();
  Api api = detail::Opening::api(access.known());
  api.limit_dead(config.dead_max_jobs, config.dead_timeout);
  api.on_away(say_away);
  return api;
}

}  // namespace brood
