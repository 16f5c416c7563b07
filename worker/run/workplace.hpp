#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

#include "shared/config/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/scoreboard/worker_setup.hpp"
#include "worker/guard/standard_output.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/orders/supervisor_orders.hpp"
#include "worker/run/class_rules.hpp"
#include "worker/run/recycling.hpp"

namespace brood {

// The values that all parts of a worker that run jobs share, and the few steps that all of them take.
class Workplace {
 public:
  Workplace(const Config& config, const WorkerSetup& setup, WorkerSlot& slot, SupervisorOrders& orders,
            JobRegistry& registry);

  const Config& config;
  const WorkerSetup& setup;
  const WorkerSettings& settings;  // of the worker's capsule
  const std::string capsule;
  WorkerSlot& slot;
  SupervisorOrders& orders;
  JobRegistry& registry;
  const ClassRules rules;
  StandardOutput output;
  WorkerAge age;

  // end_entry() ends an entry; finish_entry() notes the outcome of a failed one.  If the supervisor is killing this
  // worker because of the entry, they wait for the end and do not return.
  void end_entry(int entry, EntryState state);
  void finish_entry(int entry, const OutcomeNote& becomes);

  // Call it when code of a library has returned.  Code that forks and returns in both processes leaves a copy of this
  // process.  The copy has the worker's connection and slot and must touch neither, so it ends here.
  void end_if_a_copy(std::string_view jid, std::string_view job_class) const;
  void end_if_a_copy(const Payload& job) const { end_if_a_copy(job.jid(), job.display_class()); }

  // From now on this process is not the worker, but one that runs a single job for it.
  void become_a_job();

 private:
  [[noreturn]] void wait_for_the_end();

  pid_t process_ = getpid();
  bool is_of_one_job_ = false;
};

}  // namespace brood
