#include "supervisor/supervisor.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <system_error>

#include "shared/check.hpp"
#include "shared/log.hpp"
#include "shared/seat.hpp"
#include "shared/store/keys.hpp"
#include "supervisor/memory_use.hpp"
#include "supervisor/spawn.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_for_last_recovery = 1500ms;
constexpr auto time_for_embedded_redis = 10s;
constexpr auto one_wish = 100ms;
constexpr auto status_interval = 1s;
constexpr auto sweep_interval = 1h;
constexpr int most_reaped_a_turn = 256;
constexpr int oom_score_of_workers = 300;

std::vector<int> capsule_sizes(const Config& config) {
  std::vector<int> sizes;
  for (const CapsuleSettings& capsule : config.capsules) sizes.push_back(capsule.concurrency);
  return sizes;
}

// Both the worker and its supervisor say it: should the supervisor be killed right after the fork, its successor must
// not take the worker for dead.  The pid last: who sees it may read the rest.
void say_who_runs(SlotRecord& record, pid_t pid) {
  record.start_time.store(process_start_time(pid));
  record.pid.store(pid);
}

// What every worker is told in a phase.
std::uint32_t flags_in(Phase phase) {
  switch (phase) {
    case Phase::running:
      return 0;
    case Phase::quiet:
      return slot_quiet;
    case Phase::stopping:
    case Phase::killing:
      return slot_quiet | slot_stop;
  }
  return 0;
}

// In a rolling restart the old and the new worker hold a slot each.
int scoreboard_slots(const Config& config) { return 2 * config.concurrency() + 16; }

ExitStatus exit_status(const siginfo_t& info) { return {info.si_code == CLD_EXITED, info.si_status}; }

}  // namespace

Supervisor::Supervisor(Setup setup)
    : config_(std::move(setup.config)),
      identity_(std::move(setup.identity)),
      bodies_(std::move(setup.bodies)),
      signal_source_(loop_, [this](const signalfd_siginfo& signal) { signals_.push_back(signal); }),
      scoreboard_(Scoreboard::create(setup.runtime_directory, identity_.name, scoreboard_slots(config_))),
      table_(capsule_sizes(config_)),
      restart_policies_(static_cast<std::size_t>(table_.size())),
      pipes_(static_cast<std::size_t>(table_.size())),
      recovery_(bodies_),
      inheritance_(recovery_, setup.runtime_directory),
      redis_(loop_, std::move(setup.redis), std::move(setup.embedded_redis),
             {.usable = [this] { redis_is_usable(); }, .unusable = [this](const std::string&) { fail(EX_CONFIG); }}),
      scheduler_(loop_, redis_.connection(),
                 {.identity = identity_.name,
                  .poll = {.average_scheduled = config_.poll_interval},
                  .dead_limits = {config_.dead_max_jobs, config_.dead_timeout.count()}}),
      heartbeat_(loop_, redis_.connection(), identity_, process_facts(),
                 {.slots = [this] { return heartbeat_slots(); }, .quiet = [this] { return phase_ != Phase::running; }},
                 {.quiet = [this] { order(Order::quiet); },
                  .stop = [this] { order(Order::stop); },
                  .dump = [this] { dump_stacks(); },
                  .beaten =
                      [this](SteadyTime sent) {
                        scoreboard_.last_beat().store(sent.time_since_epoch().count());
                        orphan_watch_.look();
                      }}),
      pruning_(loop_, redis_.connection()),
      orphan_watch_(loop_, redis_.connection(), identity_, [this] { return living_fields(); },
                    {.dead_supervisor = [this](const DeadSupervisor& dead) { inheritance_.heed(dead, steady_now()); },
                     .orphan_field =
                         [this](const std::string& field) {
                           const auto parsed = keys::parse_worker_field(field);
                           if (!parsed) return;
                           log::warn("orphan_incarnation", {{"field", field}});
                           Casualty orphan;
                           orphan.worker = {identity_.name, parsed->slot, parsed->incarnation, std::nullopt, false};
                           orphan.cause_unknown = true;
                           recovery_.add(std::move(orphan));
                         },
                     .looked = [this] { inheritance_.end_look(); }}),
      alarm_(loop_, [] {}) {
  // Grandchildren that a job left behind become ours to reap.
  check("prctl", prctl(PR_SET_CHILD_SUBREAPER, 1));
  scoreboard_.last_beat().store(steady_now().time_since_epoch().count());
}

Supervisor::~Supervisor() = default;

int Supervisor::run() {
  log::info(
      "supervisor_started",
      {{"identity", identity_.name}, {"workers", table_.size()}, {"redis", redis_.describe()}, {"version", version}});
  redis_.open();
  refill_vacant_slots();
  while (farewell_ != Farewell::done) {
    keep_time();
    loop_.run_once();
    while (!signals_.empty()) {
      const signalfd_siginfo signal = signals_.front();
      signals_.pop_front();
      heed(signal);
    }
    reap_children();
    kill_overdue_children();
    do_what_is_due();
    if (phase_ == Phase::running || phase_ == Phase::quiet) refill_vacant_slots();
    if (redis_.connected()) recovery_.spawn_due(steady_now());
    advance_farewell();
    log::flush();
  }
  // What is left in flight is recovered by what this file says of it.
  if (recovered_our_own()) scoreboard_.remove_file();
  log::info("supervisor_stopped", {{"exit_status", exit_code_}});
  return exit_code_;
}

void Supervisor::heed(const signalfd_siginfo& signal) {
  const auto sender = static_cast<pid_t>(signal.ssi_pid);
  if (signal.ssi_signo == SIGCHLD) return;  // reap_children asks who it was
  const std::string name = signal_name(static_cast<int>(signal.ssi_signo));
  if (belongs_to_us(sender)) {
    log::warn("signal_from_own_child_ignored", {{"signal", name}, {"pid", sender}});
    return;
  }
  log::info("signal", {{"signal", name}, {"from_pid", sender}});
  switch (signal.ssi_signo) {
    case SIGTERM:
    case SIGINT:
      if (!repeats_the_stop(sender)) order(Order::stop);
      break;
    case SIGTSTP:
      order(Order::quiet);
      break;
    case SIGTTIN:
      dump_stacks();
      break;
    default:
      log::warn("signal_has_no_meaning_here", {{"signal", name}});
      break;
  }
}

// timeout(1) and some container runtimes send one TERM to the process and at once the same to its group: that is one
// wish, while an operator's second TERM kills.
bool Supervisor::repeats_the_stop(pid_t sender) {
  const SteadyTime now = steady_now();
  const bool repeated = sender == stop_sender_ && now - stop_came_ < one_wish;
  stop_sender_ = sender;
  stop_came_ = now;
  return repeated;
}

void Supervisor::order(Order order) {
  const Phase before = phase_;
  phase_ = next_phase(phase_, order);
  if (phase_ == before) return;
  log::info("phase", {{"from", name_of(before)}, {"to", name_of(phase_)}});
  scheduler_.stop();
  switch (phase_) {
    case Phase::running:
      break;
    case Phase::quiet:
      tell_workers(flags_in(phase_));
      break;
    case Phase::stopping:
      stop_deadline_ = steady_now() + config_.shutdown_timeout;
      service_.stopping();
      tell_workers(flags_in(phase_));
      break;
    case Phase::killing:
      service_.stopping();
      for (int slot = 0; slot < table_.size(); ++slot) {
        if (table_[slot].pid == 0) continue;
        log::warn("worker_killed", {{"slot", slot},
                                    {"worker_pid", table_[slot].pid},
                                    {"reason", "it outlasted the shutdown timeout, or a second stop came"}});
        table_[slot].killed_by_brood = true;
        kill(-table_[slot].pid, SIGKILL);
        kill(table_[slot].pid, SIGKILL);
      }
      break;
  }
  heartbeat_.beat();
  report_status();
}

void Supervisor::tell_workers(std::uint32_t flags) {
  for (int slot = 0; slot < table_.size(); ++slot) {
    if (table_[slot].pid != 0) tell_worker(slot, flags);
  }
}

// The flag is the message; the byte only wakes a worker that waits.  One whose pipe is full has been woken already.
void Supervisor::tell_worker(int slot, std::uint32_t flags) {
  scoreboard_.slot(slot).flags.fetch_or(flags);
  const char byte = static_cast<char>(ControlByte::look_at_flags);
  ::send(pipes_[static_cast<std::size_t>(slot)].fd.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// A job may have scribbled over the flags, of its neighbours too: a worker that believes itself quiet would idle for
// ever, and one that has forgotten a stop would have to be killed.
void Supervisor::mend_flags() {
  for (int slot = 0; slot < table_.size(); ++slot) {
    std::atomic<std::uint32_t>& flags = scoreboard_.slot(slot).flags;
    const std::uint32_t seen = flags.load(), meant = (seen & slot_cancel) | flags_in(phase_);
    if (table_[slot].pid == 0 || seen == meant) continue;
    log::warn("slot_flags_mended", {{"slot", slot}, {"worker_pid", table_[slot].pid}});
    flags.store(meant);
    tell_worker(slot, 0);
  }
}

void Supervisor::dump_stacks() {
  for (int slot = 0; slot < table_.size(); ++slot) {
    if (table_[slot].pid == 0 || !table_[slot].ready) continue;
    const SlotSnapshot seen = snapshot(scoreboard_.slot(slot));
    log::info("dump", {{"slot", slot},
                       {"worker_pid", table_[slot].pid},
                       {"jid", seen.current >= 0 ? seen.jid : ""},
                       {"class", seen.current >= 0 ? seen.job_class : ""}});
    kill(table_[slot].pid, SIGTTIN);
  }
}

void Supervisor::refill_vacant_slots() {
  for (const int slot : table_.due_for_refill(steady_now())) spawn_worker(slot);
}

void Supervisor::spawn_worker(int slot) {
  SlotRecord& record = scoreboard_.slot(slot);
  const SteadyTime now = steady_now();
  try {
    ControlPipe pipe = make_control_pipe();
    vacate(record, table_.assign_incarnation(slot), 0);
    record.spawned_at.store(now.time_since_epoch().count());
    record.flags.store(flags_in(phase_));
    const int capsule = table_[slot].capsule;
    const Seat seat{.slot = slot,
                    .capsule = capsule,
                    .control = pipe.worker_end.get(),
                    .record = &record,
                    .last_beat = &scoreboard_.last_beat(),
                    .supervisor = getpid()};
    const std::string title =
        "brood: worker " + std::to_string(slot) + " " + config_.capsules[static_cast<std::size_t>(capsule)].name;
    table_[slot].processed_before = record.processed.load();
    const pid_t pid = spawn({.title = title,
                             .keep = {seat.control},
                             .parent_death_signal = SIGTERM,
                             .oom_score_adjustment = oom_score_of_workers},
                            [&] {
                              say_who_runs(record, getpid());
                              return bodies_.worker(seat);
                            });
    say_who_runs(record, pid);
    table_.occupy(slot, pid, now);
    Pipe& ours = pipes_[static_cast<std::size_t>(slot)];
    ours.watch.reset();
    ours.fd = std::move(pipe.supervisor_end);
    ours.watch =
        std::make_unique<FdWatch>(loop_, ours.fd.get(), FdWatch::readable, [this, slot](int) { worker_said(slot); });
    log::debug("worker_spawned", {{"slot", slot}, {"worker_pid", pid}, {"incarnation", table_[slot].incarnation}});
  } catch (const std::system_error& error) {
    const auto rest = restart_policies_[static_cast<std::size_t>(slot)].rest_after_failed_fork();
    table_[slot].rests_until = now + rest;
    log::warn("spawn_failed",
              {{"slot", slot}, {"reason", error.what()}, {"again_in", fmt::format("{}ms", rest.count())}});
  }
}

// A worker may write anything into its pipe: what is read per turn is bounded, and the first byte that is none of ours
// ends it.
void Supervisor::worker_said(int slot) {
  Pipe& pipe = pipes_[static_cast<std::size_t>(slot)];
  char bytes[64];
  const ssize_t got = recv(pipe.fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
    pipe.watch.reset();  // its end; the worker itself is reaped when it is gone
    return;
  }
  for (ssize_t i = 0; i < got; ++i) {
    switch (static_cast<ControlByte>(bytes[i])) {
      case ControlByte::ready:
        table_[slot].ready = true;
        if (!ready_ && table_.ready() == table_.size()) {
          ready_ = true;
          service_.ready();
          log::info("ready", {{"workers", table_.size()}});
        }
        break;
      case ControlByte::need_incarnation:
        scoreboard_.slot(slot).incarnation.store(table_.assign_incarnation(slot));
        tell_worker(slot, 0);
        break;
      default:
        log::error("worker_broke_protocol", {{"slot", slot}, {"worker_pid", table_[slot].pid}});
        pipe.watch.reset();
        if (table_[slot].pid != 0) kill(table_[slot].pid, SIGKILL);
        return;
    }
  }
}

void Supervisor::reap_children() {
  // One SIGCHLD may stand for several exits, so ask until nobody is left to report.  WNOWAIT keeps the pid taken while
  // its process group and its slot are looked at.
  // A job's fork bomb must not keep the loop: the rest has its turn at once.
  more_to_reap_ = false;
  for (int reaped = 0; reaped < most_reaped_a_turn; ++reaped) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    const pid_t pid = info.si_pid;
    const ExitStatus status = exit_status(info);
    const auto slot = table_.slot_of(pid);
    if (slot) kill(-pid, SIGKILL);  // whatever the job left running in its group
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG);
    if (slot) {
      table_.vacate(pid);
      reap_worker(*slot, status);
    } else if (!recovery_.reaped(pid, status, steady_now())) {
      redis_.reaped(pid, status, steady_now());  // or a job's orphan, of which nobody needs to know
    }
  }
  more_to_reap_ = true;
}

void Supervisor::reap_worker(int slot, const ExitStatus& status) {
  const SteadyTime now = steady_now();
  const ProcessTable::Slot& place = table_[slot];
  const SlotSnapshot last = snapshot(scoreboard_.slot(slot));
  scoreboard_.slot(slot).pid.store(0);
  pipes_[static_cast<std::size_t>(slot)].watch.reset();
  pipes_[static_cast<std::size_t>(slot)].fd.reset();

  const WorkerEnd end = judge_worker_end(status, last, slot, place.processed_before, place.killed_by_brood, now);
  const auto rest = restart_policies_[static_cast<std::size_t>(slot)].rest_after(now - place.occupied_since,
                                                                                 end.began_a_job, end.in_order);
  table_[slot].rests_until = now + rest;
  if (!place.ready && status.exited && status.value == EX_CONFIG) {
    log::warn("worker_did_not_start", {{"slot", slot}, {"worker_pid", last.pid}, {"status", status.describe()}});
  } else if (end.in_order) {
    log::debug("worker_ended", {{"slot", slot}, {"worker_pid", last.pid}, {"status", status.describe()}});
  } else {
    log::error("worker_crashed", {{"slot", slot},
                                  {"worker_pid", last.pid},
                                  {"status", status.describe()},
                                  {"jid", end.cause ? last.jid : ""},
                                  {"class", end.cause ? last.job_class : ""},
                                  {"uptime", short_duration(now - place.occupied_since)},
                                  {"refill_in", fmt::format("{}ms", rest.count())}});
  }
  if (!place.ready && !end.in_order) note_failed_start(slot);
  // Before it is ready a worker registers nothing, so nothing of it can be in flight.
  if (end.nothing_to_recover || !last.ready) return;

  Casualty casualty;
  // What it speaks of is what it had registered: the incarnation assigned last may never have reached it.
  casualty.worker = {.identity = identity_.name,
                     .slot = slot,
                     .incarnation = place.incarnation,
                     .record = std::nullopt,
                     .ended_by_brood = place.killed_by_brood};
  if (last.incarnation == place.incarnation) casualty.worker.record = DeadWorker::Record{last.number, last.entries};
  casualty.cause = end.cause;
  casualty.class_flags = last.class_flags;
  if (end.cause) heartbeat_.statistics().count_failure();
  recovery_.add(std::move(casualty));
}

// Before the first worker is ever ready, every slot failing means that none ever will be: a library or a configuration
// that an operator must mend.
void Supervisor::note_failed_start(int slot) {
  if (ready_ || phase_ != Phase::running || table_.ready() > 0) return;
  failed_starts_.insert(slot);
  if (static_cast<int>(failed_starts_.size()) < table_.size()) return;
  log::error("no_worker_became_ready",
             {{"hint", "the lines above say why; `brood run --check` tries the libraries alone"}});
  fail(EX_CONFIG);
}

void Supervisor::fail(int exit_code) {
  exit_code_ = exit_code;
  order(Order::stop);
}

void Supervisor::kill_overdue_children() {
  const SteadyTime now = steady_now();
  if (phase_ == Phase::stopping && now >= stop_deadline_ && table_.occupied() > 0) order(Order::deadline_passed);
  recovery_.kill_overdue(now);
}

void Supervisor::do_what_is_due() {
  const SteadyTime now = steady_now();
  redis_.catch_up(now);
  if (service_.watchdog_interval() && now >= next_watchdog_) {
    service_.watchdog();
    next_watchdog_ = now + *service_.watchdog_interval();
  }
  if (now >= next_status_) {
    mend_flags();
    report_status();
    next_status_ = now + status_interval;
  }
  if (redis_.connected() && now >= next_sweep_) {
    recovery_.sweep();
    next_sweep_ = now + sweep_interval;
  }
}

void Supervisor::advance_farewell() {
  const SteadyTime now = steady_now();
  switch (farewell_) {
    case Farewell::not_yet:
      if ((phase_ != Phase::stopping && phase_ != Phase::killing) || table_.occupied() > 0) return;
      orphan_watch_.stop();
      farewell_ = Farewell::recovering;
      farewell_deadline_ = now + time_for_last_recovery;
      [[fallthrough]];
    case Farewell::recovering:
      if (!recovered_our_own() && redis_.connected() && now < farewell_deadline_) return;
      if (!recovered_our_own()) {
        // Nothing has to be pushed anywhere: the lists are in Redis, and stay there.
        log::warn("jobs_left_in_flight", {{"reason", "Redis does not answer; the next start recovers them"}});
        stop_embedded_redis();
        return;
      }
      farewell_ = Farewell::reporting;
      heartbeat_.finish([this] { stop_embedded_redis(); });
      return;
    case Farewell::reporting:
      return;
    case Farewell::stopping_redis:
      if (!redis_.server_runs()) {
        farewell_ = Farewell::done;
      } else if (now >= farewell_deadline_) {
        redis_.kill_server();
        farewell_ = Farewell::done;
      }
      return;
    case Farewell::done:
      return;
  }
}

// Sleeps no longer than until the next thing that is due.
void Supervisor::keep_time() {
  const SteadyTime now = steady_now();
  SteadyTime next = next_status_;
  const auto sooner = [&](std::optional<SteadyTime> at) {
    if (at && *at < next) next = *at;
  };
  // Only what can be done when its time comes: anything else would keep the loop awake.
  if (phase_ == Phase::stopping && table_.occupied() > 0) sooner(stop_deadline_);
  if (phase_ == Phase::running || phase_ == Phase::quiet) sooner(table_.next_refill());
  sooner(recovery_.next_kill());
  if (redis_.connected()) sooner(recovery_.next_start());
  if (farewell_ == Farewell::recovering || farewell_ == Farewell::stopping_redis) sooner(farewell_deadline_);
  if (farewell_ == Farewell::stopping_redis)
    sooner(now + 20ms);  // one that another supervisor started is nobody's child
  if (service_.watchdog_interval()) sooner(next_watchdog_);
  sooner(redis_.next_deadline());
  if (more_to_reap_) sooner(now);
  if (log::waiting_descriptor() >= 0) sooner(now + 50ms);
  alarm_.start_in(std::max(next - now, std::chrono::nanoseconds(0)));
}

void Supervisor::stop_embedded_redis() {
  farewell_ = redis_.stop_server() ? Farewell::stopping_redis : Farewell::done;
  farewell_deadline_ = steady_now() + time_for_embedded_redis;
}

void Supervisor::redis_is_usable() {
  heartbeat_.beat();
  if (phase_ == Phase::running) scheduler_.look();
  pruning_.start();
  orphan_watch_.look();
}

void Supervisor::report_status() {
  if (!service_.listening()) return;
  int busy = 0;
  for (int slot = 0; slot < table_.size(); ++slot)
    busy += table_[slot].pid != 0 && scoreboard_.slot(slot).current.load() >= 0;
  std::string line = fmt::format("{}: {} of {} workers, {} busy", name_of(phase_), table_.ready(), table_.size(), busy);
  if (redis_.is_away()) line += ", Redis is away";
  service_.status(line);
}

std::vector<SeenSlot> Supervisor::heartbeat_slots() const {
  std::vector<SeenSlot> slots;
  for (int i = 0; i < table_.size(); ++i) slots.push_back({i, snapshot(scoreboard_.slot(i))});
  return slots;
}

std::set<std::string> Supervisor::living_fields() const {
  std::set<std::string> fields = recovery_.fields_of(identity_.name);
  for (int i = 0; i < table_.size(); ++i) {
    fields.insert(keys::worker_field(i, table_[i].incarnation));
    fields.insert(keys::worker_field(i, scoreboard_.slot(i).own_incarnation.load()));
  }
  return fields;
}

ProcessFacts Supervisor::process_facts() const {
  return {.capsules = config_.capsules,
          .tag = config_.tag,
          .labels = config_.labels,
          .version = std::string(version),
          .started_at = started_at_};
}

// A sweep or another supervisor's estate that is still under way is begun anew by whoever starts next.
bool Supervisor::recovered_our_own() const { return recovery_.fields_of(identity_.name).empty(); }

bool Supervisor::belongs_to_us(pid_t pid) const {
  return pid > 0 && (table_.slot_of(pid).has_value() || recovery_.is_child(pid));
}

}  // namespace brood
