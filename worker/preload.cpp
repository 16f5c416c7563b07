#include "worker/preload.hpp"

#include <algorithm>

#include "shared/config/redis_location.hpp"
#include "shared/config/told_keys.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "shared/store/gem_lock.hpp"
#include "worker/guard/seccomp_filter.hpp"
#include "worker/guard/seccomp_pidfd_signal.hpp"
#include "worker/job/lifecycle.hpp"

namespace brood {

bool preload(const Config& config, Preloaded& preloaded) {
  std::vector<const WorkerSettings*> takers;
  for (const CapsuleSettings& capsule : config.capsules) {
    const WorkerSettings& worker = capsule.worker ? *capsule.worker : config.worker;
    if (capsule.concurrency > 0 && worker.preload != Preload::never) takers.push_back(&worker);
  }
  const auto all = [&](const auto& holds) { return std::all_of(takers.begin(), takers.end(), holds); };
  if (takers.empty()) return false;
  tell_jobs_of_redis(config.redis);
  tell_jobs_of_keys(config.encryption, config.redis.share_with_jobs);
  tell_times(config.compatibility.time_unit());
  tell_to_serve_gem_locks(config.compatibility.serves_unique_jobs_gem);
  // It cannot be undone, so it is done only where every worker would do it.
  if (all([](const WorkerSettings* worker) { return worker->seccomp; })) {
    shield_parent();
    trap_pidfd_signals();
    preloaded.shielded = true;
  }
  preloaded.registry.load(config);
  const bool only_for_handlers =
      all([](const WorkerSettings* worker) { return worker->preload == Preload::automatic; });
  if (only_for_handlers && !preloaded.registry.has(abi::event_preload)) return false;
  run_preload_handlers(preloaded.registry);
  preloaded.done = true;
  return true;
}

}  // namespace brood
