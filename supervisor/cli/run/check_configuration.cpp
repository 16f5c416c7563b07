#include "supervisor/cli/run/check_configuration.hpp"

#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "shared/base/changeable_path.hpp"
#include "shared/config/credential.hpp"
#include "supervisor/cli/run/check_libraries.hpp"
#include "supervisor/cli/run/check_redis.hpp"
#include "supervisor/cli/run/check_sandboxes.hpp"
#include "supervisor/cli/run/show_periodic_jobs.hpp"

namespace brood {
namespace {

void show_workers(const Config& config) {
  const auto capsules = std::count_if(config.capsules.begin(), config.capsules.end(),
                                      [](const CapsuleSettings& capsule) { return capsule.concurrency > 0; });
  std::cout << "configuration: " << config.concurrency() << " workers in " << capsules << " capsule"
            << (capsules == 1 ? "" : "s") << std::endl;
  for (const CapsuleSettings& capsule : config.capsules) {
    if (capsule.concurrency == 0) continue;
    std::cout << "capsule " << capsule.name << ": " << capsule.concurrency << " workers, queues";
    for (const std::string& queue : capsule.queues.names()) std::cout << ' ' << queue;
    std::cout << std::endl;
  }
}

// The status of the worst shard.
int check_shards(const Config& config, const std::vector<RedisAddress>& shards, Wanted wanted) {
  int worst = EX_OK;
  bool one_is_fine = false;
  RedisCheck redis(config);
  for (const RedisAddress& shard : shards) {
    const int status = redis.check(shard);
    one_is_fine |= status == EX_OK;
    if (worst != EX_CONFIG && status != EX_OK) worst = status;
  }
  return worst == EX_TEMPFAIL && one_is_fine && wanted == Wanted::one_shard ? EX_OK : worst;
}

// A page whose users each job could change does not start.
int check_page(const WebSettings& web) {
  if (web.listen.empty() || web.users.empty() || geteuid() == 0) return EX_OK;
  const std::string changeable = changeable_part_of(credential_path(web.users), geteuid());
  if (changeable.empty()) return EX_OK;
  std::cout << "page: " << changeable
            << " can be changed by the user that the page and all jobs run as, so that each job "
            << "could let itself in by users in [web]: give it to root" << std::endl;
  return EX_CONFIG;
}

}  // namespace

int check_configuration(const Config& config, const std::vector<RedisAddress>& shards, Wanted wanted, bool startup) {
  show_workers(config);
  show_periodic_jobs(config.periodic);
  const int redis_status = check_shards(config, shards, wanted);
  bool has_warnings = false;
  int status = check_libraries(config, has_warnings);
  if (const int places = check_places(config, has_warnings); status == EX_OK) status = places;
  if (startup && status == EX_OK) status = check_startup(config);
  if (status == EX_OK) status = check_sandboxes(config);
  if (status == EX_OK) status = check_page(config.web);
  if (config.require.empty() && config.commands.empty())
    std::cout << "warning: no job library, so that every job fails as an unknown class" << std::endl;
  if (status == EX_OK) status = redis_status;
  if (status == EX_OK)
    std::cout << (has_warnings ? "brood can run; some names stand for nothing here: see the warnings"
                               : "everything can run")
              << std::endl;
  return status;
}

}  // namespace brood
