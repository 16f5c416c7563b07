#include "worker/job/environment_of_jobs.hpp"

#include "shared/config/job_environment.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "shared/store/gem_lock.hpp"

namespace brood {

void set_environment_of_jobs(const Config& config) {
  tell_jobs_of_redis(config.redis);
  tell_jobs_of_keys(config.encryption, config.redis.share_with_jobs);
  keep_error_secrets_from_jobs(config.errors);
  tell_times(config.compatibility.time_unit());
  tell_to_serve_gem_locks(config.compatibility.serves_unique_jobs_gem);
}

}  // namespace brood
