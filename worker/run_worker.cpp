#include "worker/run_worker.hpp"

#include <sysexits.h>

#include <exception>
#include <new>

#include "shared/base/log.hpp"
#include "shared/base/scarcity.hpp"
#include "shared/config/described_classes.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/store/identity_record.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/guard/offspring.hpp"
#include "worker/guard/seccomp_filter.hpp"
#include "worker/guard/seccomp_pidfd_signal.hpp"
#include "worker/job/class_descriptions.hpp"
#include "worker/job/environment_of_jobs.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/worker.hpp"

namespace brood {
namespace {

// Writes the description of the classes.  Only the first worker of a generation does, since all have the same classes.
void tell_classes(const Identity& identity, std::uint32_t generation, const JobRegistry& registry) {
  const std::string path = described_classes_path(identity.runtime_directory, identity.name);
  if (generation_of_described_classes(path) < generation)
    tell_described_classes(path, {generation, describe_classes(registry)});
}

}  // namespace

Worker::Worker(const WorkerSetup& setup, const Config& config, const Identity& identity,
               const std::vector<RedisAddress>& shards, Preloaded& preloaded)
    : orders_(setup, config.shutdown_timeout),
      slot_(*setup.record),
      shard_(config, setup, shards, orders_),
      place_(config, setup, slot_, orders_, preloaded.registry),
      session_(shard_.redis(), slot_,
               {.identity = identity.name,
                .identity_record = identity_record(identity),
                .slot = setup.slot,
                .dead_limits = {config.dead_max_jobs, config.dead_timeout.count()},
                .wait = shard_.address().wait,
                .pause = [this](std::chrono::milliseconds length) { pause(length); },
                .is_at_master = [this] { return shard_.redis().is_at_master(); }}),
      fetcher_(config, setup, shard_, session_, orders_),
      admission_(session_, shard_.redis(), config,
                 [this](const std::string& job_class) { return place_.registry.find(job_class) != nullptr; }),
      runner_(
          place_, admission_, shard_.redis(), shard_.limits(), [this] { return session_.holder(); }, identity),
      lifecycle_(place_.registry, {.slot = setup.slot,
                                   .capsule = place_.capsule,
                                   .preloaded = preloaded.done,
                                   .longest = config.shutdown_timeout,
                                   .begins = [this](std::string_view event) { runner_.begin_handlers(event); },
                                   .ended = [this] { runner_.end_handlers(); }}) {}

void Worker::load_libraries(const Identity& identity, const Preloaded& preloaded) {
  shard_.tell_jobs();
  if (place_.settings.seccomp) {
    // A template does not shield the supervisor if some of its copies must not.
    if (!preloaded.shielded) shield_parent();
    if (!preloaded.shielded || !preloaded.done) trap_pidfd_signals();
  }
  if (!preloaded.done) runner_.load_libraries();
  lifecycle_.start();
  runner_.prepare();
  tell_registered_periodic(registered_periodic_path(identity.runtime_directory, identity.name), place_.setup.generation,
                           place_.registry.periodic_jobs());
  tell_classes(identity, place_.setup.generation, place_.registry);
  slot_.record().ready.store(1);
  orders_.say(ControlByte::ready);
}

int run_worker(const WorkerSetup& worker_setup, const Config& config, const Identity& identity,
               const std::vector<RedisAddress>& shards, Preloaded& preloaded) {
  try {
    set_environment_of_jobs(config);
    install_crash_handler(*worker_setup.record);
    adopt_orphans();
    Worker worker(worker_setup, config, identity, shards, preloaded);
    worker.load_libraries(identity, preloaded);
    try {
      worker.run();
    } catch (const std::bad_alloc&) {
      std::terminate();  // the crash handler records the exception, and the supervisor judges by that
    }
    return EX_OK;
  } catch (const StartupError& error) {
    log::error("startup_failed", {{"slot", worker_setup.slot}, {"reason", error.what()}});
    return EX_TEMPFAIL;
  } catch (const LibraryError& error) {
    log::error("library_refused", {{"slot", worker_setup.slot}, {"reason", error.what()}});
    return EX_CONFIG;
  } catch (const std::exception& error) {
    if (worker_setup.record->ready.load() != 0 || !is_scarcity(error)) throw;
    log::error("startup_failed", {{"slot", worker_setup.slot}, {"reason", error.what()}});
    return EX_TEMPFAIL;
  }
}

}  // namespace brood
