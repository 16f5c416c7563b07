#include "worker/run/workplace.hpp"

#include <sysexits.h>

#include "shared/base/log.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto look_for_the_end = 1000ms;

}  // namespace

Workplace::Workplace(const Config& of_config, const WorkerSetup& of_worker, WorkerSlot& its_slot,
                     SupervisorOrders& of_supervisor, JobRegistry& its_registry)
    : config(of_config),
      setup(of_worker),
      settings(of_config.worker_of(of_worker.capsule)),
      capsule(of_config.capsules.at(static_cast<std::size_t>(of_worker.capsule)).name),
      slot(its_slot),
      orders(of_supervisor),
      registry(its_registry),
      rules(config, settings, registry),
      output(setup.output, setup.output_token) {}

void Workplace::end_entry(int entry, EntryState state) {
  if (!slot.end(entry, state)) wait_for_the_end();
}

void Workplace::finish_entry(int entry, const OutcomeNote& becomes) {
  if (!slot.finish_entry(entry, becomes)) wait_for_the_end();
}

// Waits until this process is killed.  The process of one job ends with its worker.
void Workplace::wait_for_the_end() {
  log::flush();
  while (is_of_one_job_) pause();
  while (!orders.supervisor_gone()) orders.wait(look_for_the_end);
  _exit(EX_SOFTWARE);
}

void Workplace::end_if_a_copy(std::string_view jid, std::string_view job_class) const {
  if (getpid() == process_) return;
  log::error(
      "copy_of_worker_ended",
      {{"jid", jid}, {"class", job_class}, {"hint", "the job forked, and its child returned; it should end by _exit"}});
  log::flush();
  _exit(EX_SOFTWARE);
}

void Workplace::become_a_job() {
  process_ = getpid();
  is_of_one_job_ = true;
  orders.become_a_job();
}

}  // namespace brood
