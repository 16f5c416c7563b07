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

// Shared by all parts of a worker that run jobs, with the few steps that all of them make.
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

  // Ends an entry, or notes what becomes of it.  Where the supervisor has decided that and ends this worker, it waits
  // for its end.
  void end_entry(int entry, EntryState state);
  void finish_entry(int entry, const OutcomeNote& becomes);

  // Call it when code of a library has returned.  Code that forks and lets both processes return leaves a copy of this
  // process, which has the worker's connection and slot and must touch neither: the copy ends here.
  void end_if_a_copy(std::string_view jid, std::string_view job_class) const;
  void end_if_a_copy(const Payload& job) const { end_if_a_copy(job.jid(), job.display_class()); }

  // From now on this process is not the worker's, but one that runs a single job for it.
  void become_a_job();

 private:
  [[noreturn]] void wait_for_the_end();

  pid_t process_ = getpid();
  bool is_of_one_job_ = false;
};

}  // namespace brood
