#include "supervisor/worker_pool.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include "shared/identity.hpp"
#include "shared/log.hpp"
#include "shared/store/keys.hpp"
#include "supervisor/spawn.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr int oom_score_of_workers = 300;
constexpr auto slow_start = 10s;

std::vector<int> capsule_sizes(const Config& config) {
  std::vector<int> sizes;
  for (const CapsuleSettings& capsule : config.capsules) sizes.push_back(capsule.concurrency);
  return sizes;
}

// In a rolling restart the old and the new worker hold a slot each.
int scoreboard_slots(const Config& config) { return 2 * config.concurrency() + 16; }

// Both the worker and its supervisor say it: should the supervisor be killed right after the fork, its successor must
// not take the worker for dead.  The pid last: who sees it may read the rest.
void say_who_runs(SlotRecord& record, pid_t pid) {
  record.start_time.store(process_start_time(pid));
  record.pid.store(pid);
}

}  // namespace

WorkerPool::WorkerPool(EventLoop& loop, Setup setup)
    : loop_(loop),
      setup_(std::move(setup)),
      config_(setup_.config),
      scoreboard_(Scoreboard::create(setup_.runtime_directory, setup_.identity, scoreboard_slots(config_))),
      table_(capsule_sizes(config_)),
      restart_policies_(static_cast<std::size_t>(table_.size())),
      lines_(static_cast<std::size_t>(table_.size())),
      overdue_(config_.worker.timeout_grace),
      post_mortem_(setup_.identity, config_.worker.memory_limit_bytes, table_.size()),
      memory_cgroup_(MemoryCgroup::create(config_)) {
  scoreboard_.last_beat().store(steady_now().time_since_epoch().count());
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::fill_vacant_slots() {
  for (const int slot : table_.due_for_refill(steady_now())) spawn_worker(slot);
}

void WorkerPool::spawn_worker(int slot) {
  SlotRecord& record = scoreboard_.slot(slot);
  const SteadyTime now = steady_now();
  try {
    ControlPipe pipe = make_control_pipe();
    OutputPipe output = make_output_pipe();
    vacate(record, table_.assign_incarnation(slot), 0);
    record.spawned_at.store(now.time_since_epoch().count());
    record.flags.store(flags_);
    const int capsule = table_[slot].capsule;
    const Seat seat{.slot = slot,
                    .capsule = capsule,
                    .control = pipe.worker_end.get(),
                    .output = output.worker_end.get(),
                    .output_token = output.token,
                    .record = &record,
                    .last_beat = &scoreboard_.last_beat(),
                    .supervisor = getpid(),
                    .usage = &scoreboard_.usage(),
                    .in_memory_cgroup = memory_cgroup_.has_value()};
    const std::string title =
        "brood: worker " + std::to_string(slot) + " " + config_.capsules[static_cast<std::size_t>(capsule)].name;
    table_[slot].processed_before = record.processed.load();
    const pid_t pid = spawn({.title = title,
                             .keep = {seat.control, seat.output},
                             .parent_death_signal = SIGTERM,
                             .oom_score_adjustment = oom_score_of_workers},
                            [&] { return run_worker(seat); });
    say_who_runs(record, pid);
    table_.occupy(slot, pid, now);
    lines(slot).control_watch.reset();
    lines(slot).control = std::move(pipe.supervisor_end);
    lines(slot).control_watch = std::make_unique<FdWatch>(loop_, lines(slot).control.get(), FdWatch::readable,
                                                          [this, slot](int) { heard(slot); });
    lines(slot).output = std::make_unique<JobOutput>(loop_, std::move(output.supervisor_end), std::move(output.token),
                                                     JobOutput::Source{.slot = slot, .worker = pid, .record = &record});
    log::debug("worker_spawned", {{"slot", slot}, {"worker_pid", pid}, {"incarnation", table_[slot].incarnation}});
  } catch (const std::system_error& error) {
    const auto rest = policy(slot).rest_after_failed_fork();
    if (rest != table_[slot].rest)
      log::warn("spawn_failed",
                {{"slot", slot}, {"reason", error.what()}, {"again_in", fmt::format("{}ms", rest.count())}});
    let_rest(slot, rest, now);
  }
}

// In the child.
int WorkerPool::run_worker(const Seat& seat) const {
  say_who_runs(*seat.record, getpid());
  if (!memory_cgroup_) return setup_.bodies.worker(seat);
  Seat own = seat;
  try {
    memory_cgroup_->enter(seat.slot);
  } catch (const std::system_error& error) {
    log::warn("worker_limits_itself", {{"slot", seat.slot}, {"reason", error.what()}});
    own.in_memory_cgroup = false;
  }
  return setup_.bodies.worker(own);
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
        table_[slot].ready = true;
        if (!was_ready_ && table_.ready() == table_.size()) {
          was_ready_ = true;
          setup_.all_ready();
        }
        break;
      case ControlByte::need_incarnation:
        scoreboard_.slot(slot).incarnation.store(table_.assign_incarnation(slot));
        tell(slot, 0);
        break;
      case ControlByte::batching:
        setup_.batching();
        break;
      default:
        log::error("worker_broke_protocol", {{"slot", slot}, {"worker_pid", table_[slot].pid}});
        lines(slot).control_watch.reset();
        if (table_[slot].ended_by == EndedBy::itself) table_[slot].ended_by = EndedBy::protocol;
        kill_worker(slot);
        return;
    }
  }
}

void WorkerPool::tell_all(std::uint32_t flags) {
  flags_ = flags;
  for (int slot = 0; slot < table_.size(); ++slot) {
    if (table_[slot].pid != 0) tell(slot, flags);
  }
}

// The flag is the message; the byte only wakes a worker that waits.  One whose pipe is full has been woken already. And
// one that waits in Redis is let go there, after the byte: see Unblocking.
void WorkerPool::tell(int slot, std::uint32_t flags) {
  scoreboard_.slot(slot).flags.fetch_or(flags);
  const char byte = static_cast<char>(ControlByte::look_at_flags);
  ::send(lines(slot).control.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  setup_.let_go(scoreboard_.slot(slot));
}

void WorkerPool::kill_all() {
  for (int slot = 0; slot < table_.size(); ++slot) {
    if (table_[slot].pid == 0) continue;
    log::warn("worker_killed", {{"slot", slot},
                                {"worker_pid", table_[slot].pid},
                                {"reason", "it outlasted the shutdown timeout, or a second stop came"}});
    table_[slot].ended_by = EndedBy::brood;
    kill_worker(slot);
  }
}

void WorkerPool::kill_worker(int slot) {
  const pid_t pid = table_[slot].pid;
  if (pid == 0) return;
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
}

std::vector<DumpRequest> WorkerPool::ask_for_stacks() {
  ++dump_requests_;
  std::vector<DumpRequest> asked;
  for (int slot = 0; slot < table_.size(); ++slot) {
    if (table_[slot].pid == 0 || !table_[slot].ready) continue;
    SlotRecord& record = scoreboard_.slot(slot);
    clear_stack(record.dump);
    record.dump.request.store(dump_requests_);
    asked.push_back({.slot = slot, .pid = table_[slot].pid, .request = dump_requests_, .record = &record});
    kill(table_[slot].pid, SIGTTIN);
  }
  return asked;
}

std::optional<WorkerPool::Ended> WorkerPool::end_job(const std::string& jid, Casualty::Fate fate) {
  for (int slot = 0; slot < table_.size(); ++slot) {
    if (table_[slot].pid == 0 || table_[slot].kill_at) continue;
    const SlotSnapshot seen = snapshot(scoreboard_.slot(slot));
    if (seen.current < 0 || !seen.text_is_whole || seen.jid != jid) continue;
    const SteadyTime now = steady_now();
    if (!abort_for_job(slot, seen, EndedBy::by_hand, now)) continue;
    table_[slot].fate = fate;
    return Ended{slot, table_[slot].pid, seen.job_class, seen.queue, now - seen.started_steady};
  }
  return std::nullopt;
}

// Aborts the worker for the job that it was seen to run; false when that job has ended since.  The abort is meant for
// the thread that runs jobs: its stack is the one to tell.
bool WorkerPool::abort_for_job(int slot, const SlotSnapshot& seen, EndedBy by, SteadyTime now) {
  if (!condemn(scoreboard_.slot(slot), seen.number, seen.current)) return false;
  ProcessTable::Slot& place = table_[slot];
  place.ended_by = by;
  place.kill_at = overdue_.kill_at(now);
  log::warn("worker_aborted",
            {{"slot", slot},
             {"worker_pid", place.pid},
             {"jid", seen.jid},
             {"class", seen.job_class},
             {"reason", by == EndedBy::timeout ? "its job runs on after its timeout" : "brood kill"}});
  syscall(SYS_tgkill, place.pid, place.pid, SIGABRT);
  return true;
}

void WorkerPool::end_overdue_jobs(SteadyTime now) {
  const auto due = next_end();
  if (!due || *due > now) return;
  next_look_ = now + overdue_.look_interval();
  for (int slot = 0; slot < table_.size(); ++slot) {
    ProcessTable::Slot& place = table_[slot];
    if (place.pid == 0) continue;
    if (place.kill_at) {
      if (now >= *place.kill_at) {
        kill_worker(slot);
        place.kill_at = overdue_.kill_at(now);  // one that cannot die at once must not keep the loop awake
      }
      continue;
    }
    const SlotRecord& record = scoreboard_.slot(slot);
    if (record.deadline.load() == 0 || record.current.load() < 0) continue;
    const SlotSnapshot seen = snapshot(record);
    if (!seen.deadline) continue;
    const SteadyTime abort_at = overdue_.abort_at(*seen.deadline);
    if (now < abort_at)
      next_look_ = std::min(next_look_, abort_at);
    else
      abort_for_job(slot, seen, EndedBy::timeout, now);
  }
}

std::optional<SteadyTime> WorkerPool::next_end() const {
  if (table_.occupied() == 0) return std::nullopt;
  SteadyTime next = next_look_;
  for (int slot = 0; slot < table_.size(); ++slot) {
    if (table_[slot].pid != 0 && table_[slot].kill_at) next = std::min(next, *table_[slot].kill_at);
  }
  return next;
}

void WorkerPool::look_after(SteadyTime now) {
  mend_flags();
  for (int slot = 0; slot < table_.size(); ++slot) {
    const ProcessTable::Slot& place = table_[slot];
    const bool slow = place.pid != 0 && !place.ready && now - place.occupied_since > slow_start;
    if (!slow) {
      slow_to_start_.erase(slot);
    } else if (slow_to_start_.insert(slot).second) {
      log::warn("worker_is_slow_to_start",
                {{"slot", slot}, {"worker_pid", place.pid}, {"hint", "a job library takes long to load, or hangs"}});
    }
  }
}

// A job may have scribbled over the flags, of its neighbours too: a worker that believes itself quiet would idle for
// ever, and one that has forgotten a stop would have to be killed.
void WorkerPool::mend_flags() {
  for (int slot = 0; slot < table_.size(); ++slot) {
    std::atomic<std::uint32_t>& flags = scoreboard_.slot(slot).flags;
    const std::uint32_t seen = flags.load(), meant = flags_ | table_[slot].flags;
    if (table_[slot].pid == 0 || seen == meant) continue;
    log::warn("slot_flags_mended", {{"slot", slot}, {"worker_pid", table_[slot].pid}});
    flags.store(meant);
    tell(slot, 0);
  }
}

std::optional<WorkerPool::Reaped> WorkerPool::reap(pid_t pid, const ExitStatus& status, const rusage& used,
                                                   SteadyTime now) {
  const auto slot = table_.slot_of(pid);
  if (!slot) return std::nullopt;
  const ProcessTable::Slot& place = table_[*slot];
  SlotRecord& record = scoreboard_.slot(*slot);
  std::optional<MemoryEvents> leaf;
  if (memory_cgroup_) {
    leaf = memory_cgroup_->take_events(*slot);
    memory_cgroup_->clear(*slot);
  }
  PostMortem::Finding found = post_mortem_.examine(*slot, place, record, status, used, leaf, now);
  if (found.end.cause)
    add_crash(scoreboard_.usage(), found.exit.last.job_class, usage_of_last_job(found.exit, record, used));
  table_.vacate(pid);
  if (lines(*slot).output) lines(*slot).output->drain_and_close();
  lines(*slot) = {};
  record.pid.store(0);

  const auto rest = policy(*slot).rest_after(now - place.occupied_since, found.end.began_a_job, found.end.in_order);
  report(pid, found.exit, found.end, rest);
  let_rest(*slot, rest, now);
  return Reaped{.slot = *slot,
                .pid = pid,
                .end = std::move(found.end),
                .was_ready = place.ready,
                .casualty = std::move(found.casualty)};
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

// One that dies again and again in the same way is said of once: when its rest has become longer.
void WorkerPool::report(pid_t pid, const WorkerExit& exit, const WorkerEnd& end, std::chrono::milliseconds rest) {
  const ProcessTable::Slot& place = table_[exit.slot];
  const bool said_before = rest > 0ms && rest == place.rest;
  const std::string status = exit.status.describe(), refill = fmt::format("{}ms", rest.count());
  if (end.in_order || said_before) {
    log::debug("worker_ended", {{"slot", exit.slot}, {"worker_pid", pid}, {"status", status}});
  } else if (!place.ready && exit.status.exited && exit.status.value == EX_CONFIG) {
    log::warn("worker_did_not_start",
              {{"slot", exit.slot}, {"worker_pid", pid}, {"status", status}, {"refill_in", refill}});
  } else {
    log::error("worker_crashed", {{"slot", exit.slot},
                                  {"worker_pid", pid},
                                  {"status", status},
                                  {"jid", end.cause ? exit.last.jid : ""},
                                  {"class", end.cause ? exit.last.job_class : ""},
                                  {"uptime", short_duration(exit.now - place.occupied_since)},
                                  {"refill_in", refill}});
  }
}

void WorkerPool::let_rest(int slot, std::chrono::milliseconds rest, SteadyTime now) {
  table_[slot].rest = rest;
  table_[slot].rests_until = now + rest;
  scoreboard_.slot(slot).rests_until.store((now + rest).time_since_epoch().count());
}

int WorkerPool::busy() const {
  int busy = 0;
  for (int slot = 0; slot < table_.size(); ++slot)
    busy += table_[slot].pid != 0 && scoreboard_.slot(slot).current.load() >= 0;
  return busy;
}

std::vector<SeenSlot> WorkerPool::slots() const {
  std::vector<SeenSlot> slots;
  for (int i = 0; i < table_.size(); ++i) slots.push_back({i, snapshot(scoreboard_.slot(i))});
  return slots;
}

std::vector<OccupiedSlot> WorkerPool::occupied_slots() {
  std::vector<OccupiedSlot> occupied;
  for (int i = 0; i < table_.size(); ++i) {
    if (table_[i].pid != 0 && table_[i].ready) occupied.push_back({i, table_[i].capsule, &scoreboard_.slot(i)});
  }
  return occupied;
}

std::set<std::string> WorkerPool::living_fields() const {
  std::set<std::string> fields;
  for (int i = 0; i < table_.size(); ++i) {
    fields.insert(keys::worker_field(i, table_[i].incarnation));
    fields.insert(keys::worker_field(i, scoreboard_.slot(i).own_incarnation.load()));
  }
  return fields;
}

}  // namespace brood
