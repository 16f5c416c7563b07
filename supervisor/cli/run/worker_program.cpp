#include "supervisor/cli/run/worker_program.hpp"

#include <unistd.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/hold_files.hpp"
#include "shared/config/redis_location.hpp"
#include "supervisor/cli/run/certificates.hpp"
#include "supervisor/cli/run/check_libraries.hpp"
#include "supervisor/cli/run/check_redis.hpp"
#include "supervisor/cli/run/check_sandboxes.hpp"
#include "supervisor/restart/remaining_work.hpp"
#include "supervisor/version.hpp"
#include "worker/crash/dump_report.hpp"
#include "worker/crash/symboliser.hpp"
#include "worker/guard/seccomp_filter.hpp"
#include "worker/preload.hpp"
#include "worker/recovery/charge_and_return_jobs.hpp"
#include "worker/recovery/sweep_strays.hpp"
#include "worker/reporting/run_reporter.hpp"
#include "worker/run_worker.hpp"

namespace brood {
namespace {

std::vector<std::string> all_queues(const Config& config) {
  std::set<std::string> queues;
  for (const CapsuleSettings& capsule : config.capsules) {
    for (const std::string& queue : capsule.queues.names()) queues.insert(queue);
  }
  return {queues.begin(), queues.end()};
}

class WorkerProgram final : public ChildProgram {
 public:
  WorkerProgram(std::shared_ptr<const Config> config, OfSupervisor supervisor)
      : config_(std::move(config)), supervisor_(supervisor) {
    for (const RedisAddress& shard : locate_shards(config_->redis)) shards_.push_back(with_certificates(shard));
  }

  std::vector<int> descriptors() const override {
    return config_->held ? config_->held->descriptors() : std::vector<int>();
  }

  void shield(const WorkerSettings& settings) override { shield_if(settings.seccomp); }
  void shield_template() override { shield_if(all_copies_are_shielded(*config_)); }

  bool preload() override {
    enter_directory_of(*config_);
    supervisor_.log.follow(*config_);
    return brood::preload(*config_, preloaded_);
  }

  int work(const WorkerSetup& setup) override {
    enter_directory_of(*config_);
    supervisor_.descriptor_limit.give_back();
    supervisor_.log.follow(*config_);
    return run_worker(setup, *config_, supervisor_.identity, shards_, preloaded_);
  }

  int recover(const RedisAddress& shard, const std::vector<WorkerDeath>& deaths, RecoveryMode mode,
              ByteCount& bytes) override {
    enter_directory_of(*config_);
    symbolise_also_from(descriptors());
    return run_recovery_child(deaths, mode, *config_, with_certificates(shard), &bytes, supervisor_.identity.name);
  }

  int recover_orphans(const RedisAddress& shard, const OrphanedJobs& jobs, RecoveryMode mode,
                      ByteCount& bytes) override {
    enter_directory_of(*config_);
    return settle_orphaned_jobs(jobs, mode, *config_, with_certificates(shard), &bytes, supervisor_.identity.name);
  }

  int report_errors(const std::string& spool, ErrorCounts& counts, int lifeline) override {
    enter_directory_of(*config_);
    supervisor_.descriptor_limit.give_back();
    supervisor_.log.follow(*config_);
    return run_reporter(
        {.config = *config_, .version = version, .spool = spool, .counts = counts, .lifeline = lifeline});
  }

  int log_stacks(const std::vector<DumpRequest>& requests) override {
    symbolise_also_from(descriptors());
    return brood::log_stacks(requests);
  }
  int tell_stack(const DumpRequest& request, int to) override {
    symbolise_also_from(descriptors());
    return brood::tell_stack(request, to);
  }

  int sweep(const RedisAddress& shard, const OwnIncarnations& own) override {
    return sweep_strays(own, with_certificates(shard), those_there(shards_));
  }

  std::string why_not_usable() override {
    enter_directory_of(*config_);
    supervisor_.log.follow(*config_);
    std::string why = why_no_sandbox(*config_, getppid());  // before a library starts threads
    if (why.empty()) why = why_not_loadable(*config_);
    return why.empty() ? why_refused(*config_, shards_) : why;
  }

  std::string why_not_removable(const std::vector<int>& numbers) override {
    std::vector<RedisAddress> some;
    for (const int number : numbers) some.push_back(shards_.at(static_cast<std::size_t>(number)));
    return why_not_empty(some, all_queues(*config_));
  }

 private:
  void shield_if(bool wanted) {
    if (!wanted) return;
    shield_parent();
    preloaded_.shielded = true;
  }

  // The supervisor's own addresses have the certificates of its own connections.
  RedisAddress with_certificates(RedisAddress address) const {
    if (address.tls) address.certificates = config_->redis.certificates;
    return address;
  }

  const std::shared_ptr<const Config> config_;
  const OfSupervisor supervisor_;
  std::vector<RedisAddress> shards_;
  Preloaded preloaded_;  // filled only in children
};

}  // namespace

std::shared_ptr<ChildProgram> worker_program(std::shared_ptr<const Config> config, OfSupervisor supervisor) {
  return std::make_shared<WorkerProgram>(std::move(config), supervisor);
}

}  // namespace brood
