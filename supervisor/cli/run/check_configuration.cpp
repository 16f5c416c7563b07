#include "supervisor/cli/run/check_configuration.hpp"

#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "supervisor/cli/run/check_libraries.hpp"
#include "supervisor/cli/run/check_names.hpp"
#include "supervisor/cli/run/check_page.hpp"
#include "supervisor/cli/run/check_redis.hpp"
#include "supervisor/cli/run/check_sandboxes.hpp"
#include "supervisor/cli/run/shield_from_jobs.hpp"
#include "supervisor/cli/run/show_periodic_jobs.hpp"

namespace brood {
namespace {

void show_workers(const Config& config) {
  const auto capsules = std::count_if(config.capsules.begin(), config.capsules.end(),
                                      [](const CapsuleSettings& capsule) { return capsule.concurrency > 0; });
  std::cout << fmt::format("configuration: {} workers in {} capsule{}\n", config.concurrency(), capsules,
                           capsules == 1 ? "" : "s");
  for (const CapsuleSettings& capsule : config.capsules) {
    if (capsule.concurrency == 0) continue;
    std::cout << fmt::format("capsule {}: {} workers, queues {}\n", capsule.name, capsule.concurrency,
                             fmt::join(capsule.queues.names(), " "))
              << std::flush;
  }
}

void warn_of_missing_shield(const Config& config, const CheckWarnings& warnings) {
  if (const std::string lack = missing_shield(config); !lack.empty())
    warnings.print(lack + ": jobs can signal their supervisor");
}

// The status of the worst shard.
int check_shards(const Config& config, const std::vector<RedisAddress>& shards, Wanted wanted,
                 const CheckWarnings& warnings) {
  int worst = EX_OK;
  bool one_is_fine = false;
  RedisCheck redis(config, warnings);
  for (const RedisAddress& shard : shards) {
    const int status = redis.check(shard);
    one_is_fine |= status == EX_OK;
    if (worst != EX_CONFIG && status != EX_OK) worst = status;
  }
  return worst == EX_TEMPFAIL && one_is_fine && wanted == Wanted::one_shard ? EX_OK : worst;
}

}  // namespace

int check_configuration(const Config& config, const std::vector<RedisAddress>& shards, Wanted wanted, bool startup) {
  const CheckWarnings warnings;
  show_workers(config);
  show_periodic_jobs(config.periodic);
  const int redis_status = check_shards(config, shards, wanted, warnings);
  int status = check_libraries(config, warnings);
  const auto note = [&](const Findings& found) {
    if (const int said = say(found, warnings); status == EX_OK) status = said;
  };
  note({.refusals = {}, .warnings = config.warnings});
  note(unknown_places(config));
  if (startup && status == EX_OK) status = check_startup(config);
  note(check_sandboxes(config));
  note(check_page(config));
  warn_of_missing_shield(config, warnings);
  const bool has_no_job = config.require.empty() && config.commands.empty();
  if (has_no_job) warnings.print("no job library, so every job fails as an unknown class");
  if (status == EX_OK) status = redis_status;
  if (status == EX_OK)
    std::cout << (has_no_job       ? "brood can start, and no job can run"
                  : warnings.any() ? "brood can run, except as in the warnings"
                                   : "everything can run")
              << std::endl;
  return status;
}

}  // namespace brood
