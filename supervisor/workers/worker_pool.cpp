#include "supervisor/workers/worker_pool.hpp"

#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include "shared/base/boot_clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/store/keys.hpp"
#include "supervisor/process/jitter.hpp"
#include "supervisor/process/spawn.hpp"

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

WorkerPool::WorkerPool(EventLoop& loop, Unblocking& unblocking, Setup setup)
    : loop_(loop),
      unblocking_(unblocking),
      setup_(std::move(setup)),
      generation_(setup_.generation->number),
      generations_{{setup_.generation->number, setup_.generation}},
      scoreboard_(take_scoreboard()),
      table_(scoreboard_.slots()),
      lines_(static_cast<std::size_t>(scoreboard_.slots())),
      job_ender_(table_, scoreboard_, [this](int slot) { return settings_of(slot).timeout_grace; }),
      exit_evidence_(setup_.identity),
      memory_cgroup_(MemoryCgroup::create(*setup_.generation->config)) {
  const bool has_beaten = setup_.adopted_workers && board_is_readable_;
  // A start counts as a beat, since nobody can have missed us yet.
  if (!has_beaten) scoreboard_.last_beat().store(boot_now().time_since_epoch().count());
  if (setup_.adopted_workers) {
    if (board_is_readable_)
      adopt(setup_.adopted_workers->handover);
    else
      let_finish(setup_.adopted_workers->handover);
  }
  fill_capsules();
}

WorkerPool::~WorkerPool() = default;

// A refill waits for nobody's recovery, unless so many wait for theirs that no slot is free.
void WorkerPool::fill_vacant_places() {
  const SteadyTime now = steady_now();
  pass_turns(now);
  for (const int place : table_.due_for_refill(now)) {
    const auto slot = table_.free_slot();
    if (!slot && !slots_exhausted_) log::warn("slots_exhausted", {{"slots", scoreboard_.slots()}});
    slots_exhausted_ = !slot;
    if (!slot) return;
    spawn_worker(place, *slot, now);
  }
}

std::optional<SteadyTime> WorkerPool::next_refill() const {
  return table_.free_slot() ? table_.next_refill() : std::nullopt;
}

void WorkerPool::spawn_worker(int key, int slot, SteadyTime now) {
  ProcessTable::Place& place = table_.places().at(key);
  const Generation& generation = *generations_.at(place.generation);
  const CapsuleSettings& capsule = generation.config->capsules.at(static_cast<std::size_t>(place.capsule));
  SlotRecord& record = scoreboard_.slot(slot);
  try {
    ControlPipe pipe = make_control_pipe();
    OutputPipe output = make_output_pipe();
    vacate(record, table_.assign_incarnation(slot), place.generation);
    set_place(record, capsule.name, place.number);
    record.spawned_at.store(now.time_since_epoch().count());
    const bool waits_its_turn = would_wait(place, slot, now);
    record.flags.store(flags_ | (waits_its_turn ? slot_quiet : 0U));
    const WorkerSetup worker_setup{.slot = slot,
                                   .capsule = place.capsule,
                                   .number = place.number,
                                   .control = pipe.worker_end.get(),
                                   .output = output.worker_end.get(),
                                   .output_token = output.token,
                                   .record = &record,
                                   .last_beat = &scoreboard_.last_beat(),
                                   .lapses = &scoreboard_.lapses(),
                                   .queue_changes = &scoreboard_.queue_changes(),
                                   .supervisor = getpid(),
                                   .usage = &scoreboard_.usage(),
                                   .in_memory_cgroup = memory_cgroup_.has_value()};
    if (memory_cgroup_) memory_cgroup_->set_limit(generation.config->worker_of(place.capsule).memory_limit_bytes);
    const std::string title = "brood: worker " + std::to_string(slot) + " " + capsule.name;
    table_[slot].processed_before = record.processed.load();
    const pid_t pid = spawn({.title = title,
                             .keep = {worker_setup.control, worker_setup.output},
                             .parent_death_signal = SIGTERM,
                             .oom_score_adjustment = oom_score_of_workers},
                            [&] { return run_worker(worker_setup, generation); });
    say_who_runs(record, pid);
    table_.occupy(slot, key, pid, now);
    table_[slot].waits_its_turn = table_[slot].never_fetched = waits_its_turn;
    connect(slot, std::move(pipe.supervisor_end), std::move(output.supervisor_end), std::move(output.token));
    log::debug("worker_spawned", {{"slot", slot},
                                  {"worker_pid", pid},
                                  {"incarnation", table_[slot].incarnation},
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

void WorkerPool::connect(int slot, UniqueFd control, UniqueFd output, std::string token) {
  lines(slot).control_watch.reset();
  lines(slot).control = std::move(control);
  lines(slot).control_watch = std::make_unique<FdWatch>(loop_, lines(slot).control.get(), FdWatch::readable,
                                                        [this, slot](int) { heard(slot); });
  const JobOutput::Source source{.slot = slot, .worker = table_[slot].pid, .record = &scoreboard_.slot(slot)};
  lines(slot).output = std::make_unique<JobOutput>(loop_, std::move(output), std::move(token), source);
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

// A worker may write anything into its pipe: what is read per turn is bounded, and the first byte that is none of ours
// ends it.
void WorkerPool::heard(int slot) {
  char bytes[64];
  const ssize_t got = recv(lines(slot).control.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
    // It is gone and will be reaped; or its job has closed the pipe, and then it hears nothing any more: no other job
    // is to run there.
    lines(slot).control_watch.reset();
    table_[slot].flags = slot_quiet | slot_stop;
    scoreboard_.slot(slot).flags.fetch_or(table_[slot].flags);
    return;
  }
  for (ssize_t i = 0; i < got; ++i) {
    switch (static_cast<ControlByte>(bytes[i])) {
      case ControlByte::ready:
        if (!table_[slot].ready_at) table_[slot].ready_at = steady_now();
        note_whether_all_are_ready();
        break;
      case ControlByte::need_incarnation:
        scoreboard_.slot(slot).incarnation.store(table_.assign_incarnation(slot));
        tell(slot, 0);
        break;
      case ControlByte::batching:
        news_.batching = true;
        break;
      case ControlByte::left_wait:
        news_.left_wait = true;
        break;
      default:
        log::error("worker_broke_protocol", {{"slot", slot}, {"worker_pid", table_[slot].pid}});
        lines(slot).control_watch.reset();
        if (table_[slot].ended_by == EndedBy::itself) table_[slot].ended_by = EndedBy::protocol;
        kill_worker(table_[slot].pid);
        return;
    }
  }
}

void WorkerPool::note_whether_all_are_ready() { was_ready_ |= table_.ready() >= table_.kept(); }

void WorkerPool::tell_all(std::uint32_t flags) {
  flags_ = flags;
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    if (!table_.is_living(slot)) continue;
    scoreboard_.slot(slot).flags.store(flags_of(slot));  // one that finishes, or waits its turn, goes on doing so
    wake(slot);
  }
}

// The flag is the message; the byte only wakes a worker that waits.  One whose pipe is full has been woken already. And
// one that waits in Redis is let go there, after the byte: see Unblocking.
void WorkerPool::tell(int slot, std::uint32_t flags) {
  scoreboard_.slot(slot).flags.fetch_or(flags);
  const char byte = static_cast<char>(ControlByte::look_at_flags);
  ::send(lines(slot).control.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  unblocking_.unblock(scoreboard_.slot(slot));
}

// The count first: whoever looked before it sees that, or we see that it waits.  One whose ready byte we have not read
// may wait already, and what a record says of a job may be scribbled, so nobody is left out.
void WorkerPool::note_queues_changed(bool to_all) {
  scoreboard_.queue_changes().fetch_add(1);
  for (int slot = 0; to_all && slot < table_.used_slots(); ++slot) {
    if (table_.is_living(slot)) wake(slot);
  }
}

void WorkerPool::kill_all(const char* reason) {
  predecessors_.kill_all();
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    if (table_[slot].pid == 0) continue;
    log::warn("worker_killed", {{"slot", slot}, {"worker_pid", table_[slot].pid}, {"reason", reason}});
    table_[slot].ended_by = EndedBy::brood;
    kill_worker(table_[slot].pid);
  }
}

std::vector<DumpRequest> WorkerPool::ask_for_stacks() {
  ++dump_requests_;
  std::vector<DumpRequest> asked;
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    if (table_[slot].pid == 0 || !table_[slot].ready_at) continue;
    SlotRecord& record = scoreboard_.slot(slot);
    clear_stack(record.dump);
    record.dump.request.store(dump_requests_);
    asked.push_back({.slot = slot, .pid = table_[slot].pid, .request = dump_requests_, .record = &record});
    kill(table_[slot].pid, SIGTTIN);
  }
  return asked;
}

void WorkerPool::look_after(SteadyTime now) {
  if (scoreboard_.mend())
    log::warn("scoreboard_mended", {{"hint",
                                     "a job has cut it short, or written over it: what its workers had noted "
                                     "there may be lost"}});
  mend_records();
  mend_flags();
  for (int slot = 0; slot < table_.used_slots(); ++slot) look_after_start(slot, now);
}

// In a roll the coming ones are the roll's: one that does not start ends it.
void WorkerPool::look_after_start(int slot, SteadyTime now) {
  ProcessTable::Slot& taken = table_[slot];
  if (taken.pid == 0 || taken.ready_at) return;
  const auto age = now - taken.occupied_since;
  if (age > slow_start && slow_to_start_.insert(taken.pid).second)
    log::warn("worker_is_slow_to_start",
              {{"slot", slot}, {"worker_pid", taken.pid}, {"hint", "a job library takes long to load, or hangs"}});
  const ProcessTable::Place* const place = table_.place_of(slot);
  const auto longest = generations_.at(taken.generation)->config->boot_timeout;
  if (age < longest || taken.ended_by != EndedBy::itself || (place != nullptr && place->fresh)) return;
  log::error("worker_did_not_start", {{"slot", slot},
                                      {"worker_pid", taken.pid},
                                      {"reason", "it was not ready within boot_timeout"},
                                      {"boot_timeout", short_duration(longest)}});
  taken.ended_by = EndedBy::timeout;
  kill_worker(taken.pid);
}

std::string WorkerPool::failing_starts() const {
  const auto [places, longest_rest] = table_.failing_starts();
  if (places == 0) return "";
  return fmt::format("{} of {} workers do not start, each is tried again after {:.1f}s; the log says why", places,
                     table_.kept(), std::chrono::duration<double>(longest_rest).count());
}

// Who runs there: without that a successor of ours would take living workers for gone.
void WorkerPool::mend_records() {
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = table_[slot];
    SlotRecord& record = scoreboard_.slot(slot);
    if (taken.pid == 0 || record.pid.load() == taken.pid) continue;
    const Generation& generation = *generations_.at(taken.generation);
    set_place(record, generation.config->capsules.at(static_cast<std::size_t>(taken.capsule)).name, taken.number);
    record.incarnation.store(taken.incarnation);
    record.generation.store(taken.generation);
    record.spawned_at.store(taken.occupied_since.time_since_epoch().count());
    if (taken.ready_at) record.ready.store(1);
    say_who_runs(record, taken.pid);
  }
}

// A job may have scribbled over the flags, of its neighbours too: a worker that believes itself quiet would idle for
// ever, and one that has forgotten a stop would have to be killed.
void WorkerPool::mend_flags() {
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    std::atomic<std::uint32_t>& flags = scoreboard_.slot(slot).flags;
    const std::uint32_t seen = flags.load(), meant = flags_of(slot);
    if (table_[slot].pid == 0 || seen == meant) continue;
    log::warn("slot_flags_mended", {{"slot", slot}, {"worker_pid", table_[slot].pid}});
    flags.store(meant);
    tell(slot, 0);
  }
}

std::optional<WorkerPool::Reaped> WorkerPool::reap(pid_t pid, const ExitStatus& status, const rusage& used,
                                                   SteadyTime now) {
  if (predecessors_.reaped(pid)) return std::nullopt;
  const auto slot = table_.slot_of(pid);
  if (!slot) return std::nullopt;
  const ProcessTable::Slot& taken = table_[*slot];
  SlotRecord& record = scoreboard_.slot(*slot);
  std::optional<MemoryEvents> leaf;
  if (memory_cgroup_) {
    leaf = memory_cgroup_->take_events(*slot);
    memory_cgroup_->clear(*slot);
  }
  ExitEvidence::Finding found =
      exit_evidence_.examine(*slot, taken, record, status, used, leaf,
                             {settings_of(*slot).memory_limit_bytes, std::max(1, table_.kept())}, now);
  if (found.worker_death) found.worker_death->max_crashes = settings_of(*slot).max_crashes;
  add_left_runs(
      scoreboard_.usage(), record.run_notes, [&](int entry) { return ended_with_worker(found.exit.last, entry); },
      found.end.cause.has_value(), usage_of_last_job(found.exit, record, used));
  table_.vacate(pid);
  table_[*slot].ended_at = now;
  slow_to_start_.erase(pid);
  if (lines(*slot).output) lines(*slot).output->drain_and_close();
  lines(*slot) = {};
  record.pid.store(0);
  if (!found.worker_death) free(*slot, taken.incarnation);

  ProcessTable::Place* const place = table_.place_of(*slot);
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
                .worker_death = std::move(found.worker_death)};
}

void WorkerPool::recovered(const DeadWorker& dead) {
  if (dead.identity == setup_.identity) free(dead.slot, dead.incarnation);
}

// So its successor, should we be killed, has nothing to do for it either.
void WorkerPool::free(int slot, std::uint64_t incarnation) {
  if (slot < 0 || slot >= table_.slots() || !table_[slot].held || table_[slot].incarnation != incarnation) return;
  scoreboard_.slot(slot).retired.store(1);
  table_.release(slot);
}

void WorkerPool::note_stopped(pid_t pid) const {
  const auto slot = table_.slot_of(pid);
  if (!slot) return;
  const SlotSnapshot seen = snapshot(scoreboard_.slot(*slot));
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
  ProcessTable::Place& place = table_.places().at(key);
  place.rest = rest;
  place.rests_until = now + jittered(rest);
  // Shown by `brood status`.
  if (place.last_slot >= 0 && !table_.is_living(place.last_slot))
    scoreboard_.slot(place.last_slot).rests_until.store(place.rests_until.time_since_epoch().count());
}

int WorkerPool::busy() const {
  int busy = 0;
  for (int slot = 0; slot < table_.used_slots(); ++slot)
    busy += table_[slot].pid != 0 && scoreboard_.slot(slot).current.load() >= 0;
  return busy;
}

std::vector<SeenSlot> WorkerPool::slots() const {
  std::vector<SeenSlot> slots;
  for (int i = 0; i < table_.used_slots(); ++i) slots.push_back({i, snapshot(scoreboard_.slot(i))});
  return slots;
}

std::vector<OccupiedSlot> WorkerPool::occupied_slots() {
  std::vector<OccupiedSlot> occupied;
  for (int i = 0; i < table_.used_slots(); ++i) {
    if (table_[i].pid != 0 && table_[i].ready_at) occupied.push_back({i, table_[i].capsule, &scoreboard_.slot(i)});
  }
  return occupied;
}

std::set<std::string> WorkerPool::living_fields() const {
  std::set<std::string> fields = predecessors_.fields();
  for (int i = 0; i < table_.used_slots(); ++i) {
    if (!table_.is_living(i) && !table_[i].held) continue;
    fields.insert(keys::worker_field(i, table_[i].incarnation));
    fields.insert(keys::worker_field(i, scoreboard_.slot(i).own_incarnation.load()));
  }
  return fields;
}

}  // namespace brood
