#include "supervisor/cli/api_access.hpp"

#include "shared/config/config.hpp"

namespace brood {

Api open_api(const RedisAccess& access) {
  const Config config = access.configuration();
  Api api(url_of(access.locate()));
  api.limit_dead(config.dead_max_jobs, config.dead_timeout);
  return api;
}

}  // namespace brood
