#include "supervisor/workers/worker_pool.hpp"

#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/statsd/statsd.hpp"
#include "shared/statsd/statsd_lines.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/workers/worker_handover.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto slow_start = 10s;

// The kind of crash of the job; nullopt if it did not crash.  A job that an operator ends has not crashed.
std::optional<std::size_t> way_of_crash(const EndedWorker& ended) {
  if (!ended.end.cause || ended.exit.by == EndedBy::by_hand) return std::nullopt;
  return crash_way(ended.end.cause->error_class);
}

// Sends the runs that a dead worker has left to the StatsD server of `settings`, if any.  The crashed run carries
// `error_class`.
void tell_left_runs(const StatsdSettings& settings, UsageTable& table, const std::vector<EndedRun>& left,
                    const std::string& error_class) {
  if (settings.address.empty() || left.empty()) return;
  Statsd statsd(settings, &table.datagrams_dropped);
  for (const EndedRun& run : left) {
    const std::string job_class = statsd_class(table, run.note.class_index),
                      queue = statsd_queue(table, run.start.queue_index);
    statsd.lines().add_run(run.note.state == RunNote::State::failed, run.note.ms,
                           {job_class, queue, run.crashed ? error_class : ""});
  }
  statsd.send();
}

}  // namespace

WorkerPool::WorkerPool(EventLoop& loop, Children& children, WorkerSlots& slots, const Generations& generations,
                       WorkerOrders& orders, WorkerShards& shards, std::string identity, const Config& config,
                       const std::optional<Handover>& left)
    : slots_(slots),
      generations_(generations),
      orders_(orders),
      spawner_(loop, children, slots, generations, orders, shards, config),
      identity_(std::move(identity)),
      job_ender_(loop, slots.table, slots.board, [this](int slot) { return settings_of(slot).timeout_grace; }),
      exit_evidence_(identity_),
      ran_before_(slots) {
  if (left && slots_.adopted()) {
    adopt_workers(*left, slots_, orders_);
    spawner_.adopt(*left);
  } else if (left) {
    let_finish(loop, *left);
  }
  fill_capsules();
}

void WorkerPool::kill_all(const char* reason) {
  spawner_.stop();
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
  ran_before_.look(now);
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) look_after_start(slot, now);
}

// Does not end workers of a roll: the roll itself judges a worker that does not start.
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
  return fmt::format("{} of {} workers do not start, each is tried again after {:.1f}s; see the log", places,
                     slots_.table.kept(), std::chrono::duration<double>(longest_rest).count());
}

// Writes into each record, also of a slot that was never used, which process runs there and until when the slot rests.
// Otherwise a later supervisor would take living workers for dead, and `brood status` would show workers that do not
// exist.
void WorkerPool::mend_records() {
  for (int slot = 0; slot < slots_.table.slots(); ++slot) {
    const ProcessTable::Slot& taken = slots_.table[slot];
    SlotRecord& record = slots_.board.slot(slot);
    if (taken.reserved) continue;  // its worker may already write there
    const std::int64_t rests_until = slots_.table.rests_until(slot).time_since_epoch().count();
    if (record.rests_until.load() != rests_until) record.rests_until.store(rests_until);
    const std::int64_t spawned_at = taken.occupied_since.time_since_epoch().count();
    if (taken.pid != 0 && record.spawned_at.load() != spawned_at) record.spawned_at.store(spawned_at);
    if (taken.ready_at && record.ready.load() == 0) record.ready.store(1);
    if (record.pid.load() == taken.pid) continue;
    if (taken.pid == 0) {
      record.pid.store(0);
      continue;
    }
    const Generation& generation = generations_.of(taken.generation);
    set_place(record, generation.config->capsules.at(static_cast<std::size_t>(taken.capsule)).name, taken.number);
    record.shard.store(taken.shard);
    record.incarnation.store(taken.incarnation);
    record.generation.store(taken.generation);
    say_who_runs(record, taken.pid);
  }
}

std::optional<EndedWorker> WorkerPool::reap(pid_t pid, const ExitStatus& status, const rusage& used, SteadyTime now) {
  if (predecessors_.reaped(pid)) return std::nullopt;
  const auto slot = slots_.table.slot_of(pid);
  if (!slot) return std::nullopt;
  const ProcessTable::Slot& taken = slots_.table[*slot];
  SlotRecord& record = slots_.board.slot(*slot);
  const WorkerSettings& settings = settings_of(*slot);
  ProcessTable::Place* const place = slots_.table.place_of(*slot);
  WorkerExit seen{.slot = *slot, .pid = pid, .status = status, .used = used, .now = now};
  seen.is_fresh = place != nullptr && place->fresh;
  seen.memory_limit_bytes = settings.memory_limit_bytes;
  seen.workers = std::max(1, slots_.table.kept());
  if (auto& cgroup = spawner_.memory_cgroup()) {
    seen.leaf = cgroup->take_events(*slot);
    cgroup->clear(*slot);
  }
  EndedWorker ended = exit_evidence_.examine(std::move(seen), taken, record);
  if (ended.death) ended.death->max_crashes = settings.max_crashes;
  // A job in a process of its own is not affected by earlier jobs of the worker.
  if (ended.death && ended.death->cause && ended.exit.last.job_pid == 0) {
    ended.death->cause->facts->ran_before = ran_before(record, slots_.board.usage());
    ran_before_.note_crash(*slot, now);
  }
  count_runs(ended, taken.generation);
  slots_.table.vacate(pid);
  slots_.table[*slot].ended_at = now;
  slow_to_start_.erase(pid);
  orders_.disconnect(*slot);
  record.pid.store(0);
  if (!ended.death) free(*slot, taken.incarnation);

  if (place == nullptr) {
    report(ended, 0ms, false);
    return ended;
  }
  const auto rest_before = place->rest;
  const auto rest = place->policy.rest_after({.uptime = now - taken.occupied_since,
                                              .was_ready = taken.ready_at.has_value(),
                                              .began_a_job = ended.end.began_a_job,
                                              .did_a_job = ended.end.did_a_job,
                                              .in_order = ended.end.in_order});
  // Workers of a place that die again and again in the same way are logged only when the place's rest has become
  // longer.
  report(ended, rest, !ended.end.began_a_job && rest > 0ms && rest == rest_before);
  spawner_.let_rest(taken.place, rest, now);
  return ended;
}

void WorkerPool::count_runs(const EndedWorker& ended, std::uint32_t generation) {
  const WorkerExit& exit = ended.exit;
  SlotRecord& record = slots_.board.slot(exit.slot);
  const std::vector<EndedRun> left = add_left_runs(
      slots_.board.usage(), record.run_notes, [&](int entry) { return ended_with_worker(exit.last, entry); },
      way_of_crash(ended), usage_of_last_job(exit, record), generation);
  tell_left_runs(generations_.of(generation).config->statsd, slots_.board.usage(), left,
                 ended.end.cause ? ended.end.cause->error_class : "");
}

void WorkerPool::recovered(const DeadWorker& dead) {
  if (dead.identity == identity_) free(dead.slot, dead.incarnation);
}

// Also marks the slot as retired: if we are killed, the next supervisor need not recover it.
void WorkerPool::free(int slot, std::uint64_t incarnation) {
  if (slot < 0 || slot >= slots_.table.slots() || !slots_.table[slot].held ||
      slots_.table[slot].incarnation != incarnation)
    return;
  slots_.board.slot(slot).retired.store(1);
  slots_.table.release(slot);
}

bool WorkerPool::recycle(int slot, pid_t pid) {
  if (!is_in(slot, pid)) return false;
  orders_.finish(slot);
  return true;
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

void WorkerPool::report(const EndedWorker& ended, std::chrono::milliseconds rest, bool is_repeated) const {
  const WorkerExit& exit = ended.exit;
  const WorkerEnd& end = ended.end;
  const std::string status = exit.status.describe(), refill = fmt::format("{}ms", rest.count());
  if (end.in_order || is_repeated) {
    log::debug("worker_ended", {{"slot", exit.slot}, {"worker_pid", exit.pid}, {"status", status}});
  } else if (!exit.ready_at && exit.status.exited &&
             (exit.status.value == EX_CONFIG || exit.status.value == EX_TEMPFAIL)) {
    log::warn("worker_did_not_start",
              {{"slot", exit.slot}, {"worker_pid", exit.pid}, {"status", status}, {"refill_in", refill}});
  } else {
    const bool may_be_anothers = end.cause && exit.last.job_pid == 0;
    log::error("worker_crashed",
               {{"slot", exit.slot},
                {"worker_pid", exit.pid},
                {"status", status},
                {"jid", end.cause ? exit.last.jid : ""},
                {"class", end.cause || ended_in_a_handler(exit.last) ? exit.last.job_class : ""},
                {"library", loading_when_it_ended(exit.last)},
                {"ran_before",
                 may_be_anothers ? describe(ran_before(slots_.board.slot(exit.slot), slots_.board.usage())) : ""},
                {"uptime", short_duration(exit.now - exit.began)},
                {"refill_in", refill}});
  }
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

void WorkerPool::let_finish(EventLoop& loop, const Handover& handover) {
  slots_.table.resume(handover.last_incarnation, 0);
  predecessors_ = Predecessors(loop, handover.workers);
  log::warn("workers_replaced", {{"workers", predecessors_.size()}});
}

// Adds the places that the present generation lacks.
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
