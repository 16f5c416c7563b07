#include "worker/preload.hpp"

#include <algorithm>

#include "worker/guard/seccomp_pidfd_signal.hpp"
#include "worker/job/environment_of_jobs.hpp"
#include "worker/job/lifecycle.hpp"

namespace brood {

namespace {

std::vector<const WorkerSettings*> takers_in(const Config& config) {
  std::vector<const WorkerSettings*> takers;
  for (const CapsuleSettings& capsule : config.capsules) {
    const WorkerSettings& worker = capsule.worker ? *capsule.worker : config.worker;
    if (capsule.concurrency > 0 && worker.preload != Preload::never) takers.push_back(&worker);
  }
  return takers;
}

bool all_are(const std::vector<const WorkerSettings*>& takers, bool (*holds)(const WorkerSettings&)) {
  return std::all_of(takers.begin(), takers.end(), [&](const WorkerSettings* taker) { return holds(*taker); });
}

}  // namespace

bool all_copies_are_shielded(const Config& config) {
  return all_are(takers_in(config), [](const WorkerSettings& worker) { return worker.seccomp; });
}

bool preload(const Config& config, Preloaded& preloaded) {
  const std::vector<const WorkerSettings*> takers = takers_in(config);
  if (takers.empty()) return false;
  set_environment_of_jobs(config);
  if (preloaded.shielded) trap_pidfd_signals();
  preloaded.registry.load(config);
  preloaded.registry.require_isolated_classes(config);
  const bool only_for_handlers =
      all_are(takers, [](const WorkerSettings& worker) { return worker.preload == Preload::automatic; });
  if (only_for_handlers && !preloaded.registry.has(abi::event_preload)) return false;
  run_preload_handlers(preloaded.registry);
  preloaded.done = true;
  return true;
}

}  // namespace brood
