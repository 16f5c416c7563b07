#include "supervisor/workers/worker_pool.hpp"

#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/process/fork_child.hpp"
#include "supervisor/process/jitter.hpp"
#include "supervisor/workers/worker_handover.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr int oom_score_of_workers = 300;
constexpr auto slow_start = 10s;

// Both the worker and its supervisor say it: should the supervisor be killed right after the fork, its successor must
// not take the worker for dead.  The pid last: who sees it may read the rest.
void say_who_runs(SlotRecord& record, pid_t pid) {
  record.start_time.store(process_start_time(pid));
  record.pid.store(pid);
}

}  // namespace

WorkerPool::WorkerPool(EventLoop& loop, WorkerSlots& slots, const Generations& generations, WorkerOrders& orders,
                       std::string identity, const Config& config, const std::optional<Handover>& left)
    : slots_(slots),
      generations_(generations),
      orders_(orders),
      turns_(slots, generations, orders),
      identity_(std::move(identity)),
      job_ender_(loop, slots.table, slots.board, [this](int slot) { return settings_of(slot).timeout_grace; }),
      exit_evidence_(identity_),
      memory_cgroup_(MemoryCgroup::create(config)),
      wake_(loop) {
  if (left && slots_.adopted())
    adopt_workers(*left, slots_, orders_);
  else if (left)
    let_finish(*left);
  fill_capsules();
}

// A refill waits for nobody's recovery, unless so many wait for theirs that no slot is free.
void WorkerPool::fill_vacant_places() {
  const SteadyTime now = steady_now();
  turns_.pass(predecessors_.size() > 0, now);
  for (const int place : slots_.table.due_for_refill(now)) {
    const auto slot = slots_.table.free_slot();
    if (!slot && !slots_exhausted_) log::warn("slots_exhausted", {{"slots", slots_.board.slots()}});
    slots_exhausted_ = !slot;
    if (!slot) return wake_.stop();
    spawn_worker(place, *slot, now);
  }
  wake_.start_at(slots_.table.free_slot() ? slots_.table.next_refill() : std::nullopt);
}

void WorkerPool::spawn_worker(int key, int slot, SteadyTime now) {
  ProcessTable::Place& place = slots_.table.places().at(key);
  const Generation& generation = generations_.of(place.generation);
  const CapsuleSettings& capsule = generation.config->capsules.at(static_cast<std::size_t>(place.capsule));
  SlotRecord& record = slots_.board.slot(slot);
  try {
    ControlPipe pipe = make_control_pipe();
    OutputPipe output = make_output_pipe();
    vacate(record, slots_.table.assign_incarnation(slot), place.generation);
    set_place(record, capsule.name, place.number);
    record.spawned_at.store(now.time_since_epoch().count());
    const bool waits_its_turn = turns_.would_wait(place, slot, predecessors_.size() > 0, now);
    record.flags.store(orders_.flags_of_a_new_one(waits_its_turn));
    const WorkerSetup worker_setup{.slot = slot,
                                   .capsule = place.capsule,
                                   .number = place.number,
                                   .control = pipe.worker_end.get(),
                                   .output = output.worker_end.get(),
                                   .output_token = output.token,
                                   .record = &record,
                                   .last_beat = &slots_.board.last_beat(),
                                   .lapses = &slots_.board.lapses(),
                                   .queue_changes = &slots_.board.queue_changes(),
                                   .supervisor = getpid(),
                                   .usage = &slots_.board.usage(),
                                   .in_memory_cgroup = memory_cgroup_.has_value()};
    if (memory_cgroup_) memory_cgroup_->set_limit(generation.config->worker_of(place.capsule).memory_limit_bytes);
    const std::string title = "brood: worker " + std::to_string(slot) + " " + capsule.name;
    slots_.table[slot].processed_before = record.processed.load();
    const pid_t pid = spawn({.title = title,
                             .keep = {worker_setup.control, worker_setup.output},
                             .parent_death_signal = SIGTERM,
                             .oom_score_adjustment = oom_score_of_workers},
                            [&] { return run_worker(worker_setup, generation); });
    say_who_runs(record, pid);
    slots_.table.occupy(slot, key, pid, now);
    slots_.table[slot].waits_its_turn = slots_.table[slot].never_fetched = waits_its_turn;
    orders_.connect(slot, std::move(pipe.supervisor_end), std::move(output.supervisor_end), std::move(output.token));
    log::debug("worker_spawned", {{"slot", slot},
                                  {"worker_pid", pid},
                                  {"incarnation", slots_.table[slot].incarnation},
                                  {"generation", place.generation}});
  } catch (const std::system_error& error) {
    const auto rest = place.policy.rest_after_failed_fork();
    if (rest != place.rest)
      log::warn("spawn_failed",
                {{"slot", slot}, {"reason", error.what()}, {"again_in", fmt::format("{}ms", rest.count())}});
    place.last_slot = slot;
    let_rest(key, rest, now);
  }
}

// In the child.
int WorkerPool::run_worker(const WorkerSetup& worker_setup, const Generation& generation) const {
  say_who_runs(*worker_setup.record, getpid());
  if (!memory_cgroup_) return generation.bodies.worker(worker_setup);
  WorkerSetup own = worker_setup;
  try {
    memory_cgroup_->enter(worker_setup.slot);
  } catch (const std::system_error& error) {
    log::warn("worker_limits_itself", {{"slot", worker_setup.slot}, {"reason", error.what()}});
    own.in_memory_cgroup = false;
  }
  return generation.bodies.worker(own);
}

void WorkerPool::kill_all(const char* reason) {
  predecessors_.kill_all();
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    if (slots_.table[slot].pid == 0) continue;
    log::warn("worker_killed", {{"slot", slot}, {"worker_pid", slots_.table[slot].pid}, {"reason", reason}});
    slots_.table[slot].ended_by = EndedBy::brood;
    kill_worker(slots_.table[slot].pid);
  }
}

void WorkerPool::look_after(SteadyTime now) {
  if (slots_.board.mend())
    log::warn("scoreboard_mended", {{"hint",
                                     "a job has cut it short, or written over it: what its workers had noted "
                                     "there may be lost"}});
  mend_records();
  orders_.mend_flags();
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) look_after_start(slot, now);
}

// In a roll the coming ones are the roll's: one that does not start ends it.
void WorkerPool::look_after_start(int slot, SteadyTime now) {
  ProcessTable::Slot& taken = slots_.table[slot];
  if (taken.pid == 0 || taken.ready_at) return;
  const auto age = now - taken.occupied_since;
  if (age > slow_start && slow_to_start_.insert(taken.pid).second)
    log::warn("worker_is_slow_to_start",
              {{"slot", slot}, {"worker_pid", taken.pid}, {"hint", "a job library takes long to load, or hangs"}});
  const ProcessTable::Place* const place = slots_.table.place_of(slot);
  const auto longest = generations_.of(taken.generation).config->boot_timeout;
  if (age < longest || taken.ended_by != EndedBy::itself || (place != nullptr && place->fresh)) return;
  log::error("worker_did_not_start", {{"slot", slot},
                                      {"worker_pid", taken.pid},
                                      {"reason", "it was not ready within boot_timeout"},
                                      {"boot_timeout", short_duration(longest)}});
  taken.ended_by = EndedBy::timeout;
  kill_worker(taken.pid);
}

std::string WorkerPool::failing_starts() const {
  const auto [places, longest_rest] = slots_.table.failing_starts();
  if (places == 0) return "";
  return fmt::format("{} of {} workers do not start, each is tried again after {:.1f}s; the log says why", places,
                     slots_.table.kept(), std::chrono::duration<double>(longest_rest).count());
}

// Who runs there: without that a successor of ours would take living workers for gone.
void WorkerPool::mend_records() {
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = slots_.table[slot];
    SlotRecord& record = slots_.board.slot(slot);
    if (taken.pid == 0 || record.pid.load() == taken.pid) continue;
    const Generation& generation = generations_.of(taken.generation);
    set_place(record, generation.config->capsules.at(static_cast<std::size_t>(taken.capsule)).name, taken.number);
    record.incarnation.store(taken.incarnation);
    record.generation.store(taken.generation);
    record.spawned_at.store(taken.occupied_since.time_since_epoch().count());
    if (taken.ready_at) record.ready.store(1);
    say_who_runs(record, taken.pid);
  }
}

std::optional<WorkerPool::Reaped> WorkerPool::reap(pid_t pid, const ExitStatus& status, const rusage& used,
                                                   SteadyTime now) {
  if (predecessors_.reaped(pid)) return std::nullopt;
  const auto slot = slots_.table.slot_of(pid);
  if (!slot) return std::nullopt;
  const ProcessTable::Slot& taken = slots_.table[*slot];
  SlotRecord& record = slots_.board.slot(*slot);
  std::optional<MemoryEvents> leaf;
  if (memory_cgroup_) {
    leaf = memory_cgroup_->take_events(*slot);
    memory_cgroup_->clear(*slot);
  }
  ExitEvidence::Finding found =
      exit_evidence_.examine(*slot, taken, record, status, used, leaf,
                             {settings_of(*slot).memory_limit_bytes, std::max(1, slots_.table.kept())}, now);
  if (found.worker_death) found.worker_death->max_crashes = settings_of(*slot).max_crashes;
  add_left_runs(
      slots_.board.usage(), record.run_notes, [&](int entry) { return ended_with_worker(found.exit.last, entry); },
      found.end.cause.has_value(), usage_of_last_job(found.exit, record, used));
  const bool forked_jobs = found.exit.last.forks_jobs || found.exit.last.job_pid > 0;
  slots_.table.vacate(pid);
  slots_.table[*slot].ended_at = now;
  slow_to_start_.erase(pid);
  orders_.disconnect(*slot);
  record.pid.store(0);
  if (!found.worker_death) free(*slot, taken.incarnation);

  ProcessTable::Place* const place = slots_.table.place_of(*slot);
  if (place != nullptr) {
    const auto rest_before = place->rest;
    const auto rest = place->policy.rest_after({.uptime = now - taken.occupied_since,
                                                .was_ready = taken.ready_at.has_value(),
                                                .began_a_job = found.end.began_a_job,
                                                .did_a_job = found.end.did_a_job,
                                                .in_order = found.end.in_order});
    // One that dies again and again in the same way is said of once: when its rest has become longer.
    report(found.exit, found.end, taken, pid, rest, !found.end.began_a_job && rest > 0ms && rest == rest_before);
    let_rest(taken.place, rest, now);
  } else {
    report(found.exit, found.end, taken, pid, 0ms, false);
  }
  return Reaped{.slot = *slot,
                .place = taken.place,
                .pid = pid,
                .end = std::move(found.end),
                .status = status,
                .fresh = place != nullptr && place->fresh,
                .ready_at = taken.ready_at,
                .worker_death = std::move(found.worker_death),
                .forked_jobs = forked_jobs};
}

void WorkerPool::recovered(const DeadWorker& dead) {
  if (dead.identity == identity_) free(dead.slot, dead.incarnation);
}

// So its successor, should we be killed, has nothing to do for it either.
void WorkerPool::free(int slot, std::uint64_t incarnation) {
  if (slot < 0 || slot >= slots_.table.slots() || !slots_.table[slot].held ||
      slots_.table[slot].incarnation != incarnation)
    return;
  slots_.board.slot(slot).retired.store(1);
  slots_.table.release(slot);
}

void WorkerPool::note_stopped(pid_t pid) const {
  const auto slot = slots_.table.slot_of(pid);
  if (!slot) return;
  const SlotSnapshot seen = snapshot(slots_.board.slot(*slot));
  log::warn("worker_stopped",
            {{"slot", *slot},
             {"worker_pid", pid},
             {"jid", seen.current >= 0 ? seen.jid : ""},
             {"class", seen.current >= 0 ? seen.job_class : ""},
             {"hint", "by SIGSTOP: it goes on after SIGCONT; its timeout, a stop or `brood kill` ends it"}});
}

void WorkerPool::report(const WorkerExit& exit, const WorkerEnd& end, const ProcessTable::Slot& last, pid_t pid,
                        std::chrono::milliseconds rest, bool said_before) {
  const std::string status = exit.status.describe(), refill = fmt::format("{}ms", rest.count());
  const bool in_a_handler = exit.last.jid.empty() && exit.last.job_class.starts_with("Event::");
  if (end.in_order || said_before) {
    log::debug("worker_ended", {{"slot", exit.slot}, {"worker_pid", pid}, {"status", status}});
  } else if (!last.ready_at && exit.status.exited &&
             (exit.status.value == EX_CONFIG || exit.status.value == EX_TEMPFAIL)) {
    log::warn("worker_did_not_start",
              {{"slot", exit.slot}, {"worker_pid", pid}, {"status", status}, {"refill_in", refill}});
  } else {
    log::error("worker_crashed", {{"slot", exit.slot},
                                  {"worker_pid", pid},
                                  {"status", status},
                                  {"jid", end.cause ? exit.last.jid : ""},
                                  {"class", end.cause || in_a_handler ? exit.last.job_class : ""},
                                  {"uptime", short_duration(exit.now - last.occupied_since)},
                                  {"refill_in", refill}});
  }
}

void WorkerPool::let_rest(int key, std::chrono::milliseconds rest, SteadyTime now) {
  ProcessTable::Place& place = slots_.table.places().at(key);
  place.rest = rest;
  place.rests_until = now + jittered(rest);
  // Shown by `brood status`.
  if (place.last_slot >= 0 && !slots_.table.is_living(place.last_slot))
    slots_.board.slot(place.last_slot).rests_until.store(place.rests_until.time_since_epoch().count());
}

std::vector<SeenSlot> WorkerPool::slots() const {
  std::vector<SeenSlot> slots;
  for (int i = 0; i < slots_.table.used_slots(); ++i) slots.push_back({i, snapshot(slots_.board.slot(i))});
  return slots;
}

std::set<std::string> WorkerPool::living_fields() const {
  std::set<std::string> fields = predecessors_.fields();
  for (int i = 0; i < slots_.table.used_slots(); ++i) {
    if (!slots_.table.is_living(i) && !slots_.table[i].held) continue;
    fields.insert(worker_field(i, slots_.table[i].incarnation));
    fields.insert(worker_field(i, slots_.board.slot(i).own_incarnation.load()));
  }
  return fields;
}

void WorkerPool::let_finish(const Handover& handover) {
  slots_.table.resume(handover.last_incarnation, 0);
  predecessors_ = Predecessors(handover.workers);
  log::warn("workers_replaced", {{"workers", predecessors_.size()}});
}

// A place for each worker that the present generation is to have and has none for.
void WorkerPool::fill_capsules() {
  const std::vector<CapsuleSettings>& capsules = generations_.present()->config->capsules;
  for (int capsule = 0; capsule < static_cast<int>(capsules.size()); ++capsule) {
    for (int number = 0; number < capsules[static_cast<std::size_t>(capsule)].concurrency; ++number) {
      const bool there =
          std::any_of(slots_.table.places().begin(), slots_.table.places().end(), [&](const auto& known) {
            const ProcessTable::Place& place = known.second;
            return place.generation == generations_.present_number() && place.capsule == capsule &&
                   place.number == number;
          });
      if (!there) slots_.table.add_place(generations_.present_number(), capsule, number);
    }
  }
}

}  // namespace brood
