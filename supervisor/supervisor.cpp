#include "supervisor/supervisor.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/store/keys.hpp"
#include "supervisor/process/jitter.hpp"
#include "supervisor/process/stopped_children.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_for_strays = 1s;  // to die, when we stop
constexpr auto status_interval = 1s;
constexpr auto sweep_interval = 1h;
constexpr auto time_to_be_listed = 15s;  // by a heartbeat, for whoever lives
constexpr auto start_extension = 60s;    // longer than a place rests
constexpr int most_reaped_a_turn = 256;

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

// Only a library or a configuration that somebody must mend.  Whatever else ends a worker before it is ready, an
// exception of its startup or a kill, may be over the next time: its place is filled again, after a pause.
bool refused_to_start(const WorkerPool::Reaped& reaped) {
  return !reaped.ready_at && reaped.status.exited && reaped.status.value == EX_CONFIG;
}

// A library that ends each process which loads it is one that cannot be used, too.
bool crashed_while_starting(const WorkerPool::Reaped& reaped) {
  if (reaped.ready_at || reaped.end.began_a_job || reaped.end.in_order) return false;
  return reaped.status.exited ? reaped.status.value != EX_CONFIG && reaped.status.value != EX_TEMPFAIL
                              : reaped.status.value != SIGKILL && reaped.status.value != SIGTERM;
}

ExitStatus exit_status(const siginfo_t& info) {
  return {info.si_code == CLD_EXITED, info.si_status, info.si_code == CLD_DUMPED};
}

}  // namespace

Supervisor::Supervisor(Setup setup)
    : config_(std::move(setup.config)),
      identity_(std::move(setup.identity)),
      bodies_(setup.bodies(config_)),
      follow_(std::move(setup.follow)),
      started_at_(setup.handover ? setup.handover->started_at : wall_now()),
      signals_(loop_, {.is_ours = [this](pid_t pid) { return descent_of(pid) == Descent::descendant; },
                       .order = [this](Order wish) { order(wish); },
                       .restart = [this] { restart_workers(); },
                       .upgrade = [this] { upgrade(); },
                       .log_stacks = [this] { stack_log_.write(pool_.ask_for_stacks()); },
                       .child_changed = [this] { note_stopped_children(); }}),  // reap_children asks who has ended
      pool_(loop_, {.generation = std::make_shared<Generation>(Generation{1, config_, bodies_}),
                    .adopted_workers = WorkerPool::AdoptedWorkers::of(setup.handover, *config_, setup.bodies),
                    .identity = identity_.name,
                    .runtime_directory = setup.runtime_directory,
                    .instance = setup.instance,
                    .all_ready = [this] { readiness_.look(); },
                    .batching = [this] { batch_watch_.look_for_a_while(); },
                    .left_wait = [this] { doorbell_.look(); },
                    .unblock = [this](const SlotRecord& record) { unblocker_.unblock(record); }}),
      stack_log_(children_, bodies_),
      recovery_(children_, bodies_,
                [this](const WorkerDeath& worker_death) {
                  if (worker_death.worker.identity == identity_.name)
                    pool_.recovered(worker_death.worker.slot, worker_death.worker.incarnation);
                }),
      dead_supervisors_(recovery_, setup.runtime_directory, [this](const std::string& dead) { pruning_.unlist(dead); }),
      redis_(loop_, children_, std::move(setup.redis), std::move(setup.embedded_redis),
             setup.handover ? RedisLink::Patience(0) : config_->redis.give_up_after,  // it was usable once
             {.usable = [this] { redis_is_usable(); }, .unusable = [this](int exit_status) { fail(exit_status); }}),
      readiness_(pool_, redis_, service_, setup.handover && pool_.was_ready()),
      unblocker_(loop_, redis_.connection()),
      doorbell_(loop_, redis_.connection(),
                {.capsules = config_->capsules,
                 .slots = [this] { return pool_.fetching_slots(); },
                 .unblock = [this](const SlotRecord& record) { unblocker_.unblock(record); },
                 .wake = [this](int slot) { pool_.wake(slot); },
                 .may_unblock = [this] { return unblocker_.allowed(); }}),
      known_queues_watch_(loop_, redis_.connection(),
                          {.somebody_is_idle = [this] { return pool_.busy() < pool_.ready(); },
                           .changed =
                               [this](const KnownQueues& known, bool others_are_paused) {
                                 pool_.note_queues_changed(others_are_paused);
                                 doorbell_.know(known);
                               }}),
      batch_watch_(loop_, redis_.connection(), identity_.name, [this] { return pool_.occupied_slots(); }),
      scheduler_(loop_, redis_.connection(), scheduler_settings()),
      heartbeat_(loop_, redis_.connection(), identity_, process_facts(),
                 {.slots = [this] { return pool_.slots(); },
                  .quiet = [this] { return phase_ != Phase::running; },
                  .usage = [this] { return pool_.take_class_usage(); },
                  .tokens = setup.handover ? BeatTokens(setup.handover->beat_tokens) : BeatTokens()},
                 {.quiet = [this] { order(Order::quiet); },
                  .stop = [this] { order(Order::stop); },
                  .dump = [this] { stack_log_.write(pool_.ask_for_stacks()); },
                  .beaten =
                      [this](BootTime sent) {
                        pool_.note_host();
                        pool_.note_beat(sent);
                        orphan_watch_.look();
                      },
                  .was_unlisted = [this] { next_sweep_ = std::min(next_sweep_, steady_now() + time_to_be_listed); },
                  .word = [this](const std::string& word) { verbs_.handle(word); },
                  .token = [this](std::uint64_t token) { pool_.note_beat_token(token); },
                  .name_is_taken = [this] { name_is_taken_ = true; }}),
      key_watch_(loop_, redis_.connection(),
                 {{std::string(keys::schedule), [this] { scheduler_.glance(); }},
                  {std::string(keys::paused), [this] { known_queues_watch_.look(); }},
                  {std::string(keys::queues), [this] { known_queues_watch_.look(); }},
                  {keys::signals(identity_.name), [this] { heartbeat_.look_for_signals(); }}},
                 [this](bool hears) {
                   scheduler_.rely_on_being_told(hears);
                   known_queues_watch_.rely_on_being_told(hears);
                   heartbeat_.rely_on_being_told(hears);
                 }),
      pruning_(loop_, redis_.connection()),
      queue_rivals_(redis_.connection()),
      orphan_watch_(
          loop_, redis_.connection(), identity_, [this] { return living_fields(); },
          {.dead_supervisor = [this](const DeadSupervisor& dead) { dead_supervisors_.handle(dead, steady_now()); },
           .orphan_field =
               [this](const std::string& field) {
                 const auto parsed = keys::parse_worker_field(field);
                 if (!parsed) return;
                 log::warn("orphan_incarnation", {{"field", field}});
                 WorkerDeath orphan;
                 orphan.worker = {identity_.name, parsed->slot, parsed->incarnation, std::nullopt, false};
                 orphan.cause_unknown = true;
                 recovery_.add(std::move(orphan));
               },
           .looked = [this](const std::set<std::string>& listed) { dead_supervisors_.end_look(listed); }}),
      strays_([this](pid_t pid) { return belongs_to_us(pid); }),
      restart_(children_, pool_,
               {.read_config = std::move(setup.read_config),
                .bodies = std::move(setup.bodies),
                .begun =
                    [this] {
                      if (pool_.was_ready()) service_.reloading();
                    },
                .capsules_changed = [this] { note_capsules(); },
                .changed_generation = [this](const Generation& generation) { go_by(generation); },
                .ended =
                    [this] {
                      if (readiness_.said()) service_.ready();
                      report_status();
                    }}),
      upgrade_(children_, setup.successor,
               {.hand_over = [this] { return hand_over(); },
                .read_file = std::move(setup.read_file),
                .half_done = [this] { return half_done(); },
                .begun = [this] { report_status(); },
                .given_up = [this] { report_status(); }},
               setup.failed),
      verbs_(pool_, restart_, upgrade_,
             {.identity = identity_.name,
              .descent_of = [this](pid_t pid) { return descent_of(pid); },
              .phase = [this] { return phase_; },
              .order = [this](Order wish) { order(wish); },
              .log_stacks = [this] { stack_log_.write(pool_.ask_for_stacks()); },
              .facts = [this] { return process_facts(); }}),
      shutdown_(identity_.name, recovery_, redis_, heartbeat_, orphan_watch_),
      came_back_(!setup.failed.empty()),
      stands_(std::move(setup.stands)),
      alarm_(loop_, [] {}) {
  heartbeat_.tell_metrics(config_->metrics);
  // What dead workers leave behind becomes ours to end.
  check("prctl", prctl(PR_SET_CHILD_SUBREAPER, 1));
  UniqueFd listener;
  if (setup.handover) {
    listener = own_descriptor(setup.handover->control_listener);
    take_over(*setup.handover);
  }
  try {
    control_socket_ = std::make_unique<ControlSocket>(
        loop_, control_socket_path(setup.runtime_directory, identity_.name),
        [this](const std::string& verb, const std::vector<std::string>& arguments, const ControlSocket::Reply& reply) {
          verbs_.handle(verb, arguments, reply);
        },
        std::move(listener));
  } catch (const std::runtime_error& error) {
    log::warn("no_control_socket", {{"reason", error.what()}});
  }
}

Supervisor::~Supervisor() = default;

int Supervisor::run() {
  log::info(
      took_over_ ? "supervisor_took_over" : "supervisor_started",
      {{"identity", identity_.name}, {"workers", pool_.size()}, {"redis", redis_.describe()}, {"version", version}});
  if (stands_) stands_();
  note_capsules();
  redis_.open();
  const bool rolls = took_over_ && !came_back_;
  if (rolls && phase_ == Phase::running) restart_.restart(std::nullopt);
  roll_is_owed_ = rolls && phase_ == Phase::quiet;
  pool_.fill_vacant_places();
  while (!shutdown_.done()) {
    keep_time();
    loop_.run_once();
    if (name_is_taken_) {
      // Told to stop, it has done so: nobody is to start it again for this.
      if (phase_ == Phase::running || phase_ == Phase::quiet) exit_code_ = EX_TEMPFAIL;
      return give_way();
    }
    signals_.handle();
    reap_children();
    strays_.look(steady_now());
    kill_overdue_children();
    do_what_is_due();
    restart_.advance(steady_now());
    verbs_.advance();
    upgrade_.advance(steady_now());
    if (phase_ == Phase::running || phase_ == Phase::quiet) pool_.fill_vacant_places();
    if (redis_.connected()) recovery_.spawn_due(steady_now());
    begin_shutdown();
    shutdown_.advance(steady_now());
    log::flush();
  }
  // What is left in flight is recovered by what this file says of it.
  if (shutdown_.recovered_our_own()) pool_.remove_scoreboard();
  log::info("supervisor_stopped", {{"exit_status", exit_code_}});
  verbs_.stopped();
  return exit_code_;
}

void Supervisor::order(Order order) {
  const Phase before = phase_;
  phase_ = next_phase(phase_, order);
  if (phase_ == before) return;
  log::info("phase", {{"from", name_of(before)}, {"to", name_of(phase_)}});
  if (phase_ == Phase::running)
    resume();
  else
    wind_down();
  heartbeat_.beat();
  report_status();
}

void Supervisor::wind_down() {
  restart_.abandon(fmt::format("the supervisor is {}", name_of(phase_)));
  if (phase_ != Phase::quiet) upgrade_.abandon(fmt::format("the supervisor is {}", name_of(phase_)));
  scheduler_.stop();
  doorbell_.stop();
  known_queues_watch_.stop();
  key_watch_.stop();
  if (phase_ == Phase::stopping) stop_deadline_ = steady_now() + config_->shutdown_timeout;
  if (phase_ != Phase::quiet) service_.stopping();
  if (phase_ == Phase::killing)
    pool_.kill_all("it outlasted the shutdown timeout, or a second stop came");
  else
    pool_.tell_all(flags_in(phase_));
}

// All that a quiet has stopped.
void Supervisor::resume() {
  scheduler_.resume(scheduler_settings());
  pool_.note_queues_changed(false);  // nobody has looked: what workers know of pauses is as old as the quiet
  pool_.tell_all(flags_in(phase_));
  if (redis_.connected()) look_for_work();
  // A program that took over in a quiet has not replaced the workers of the old one.
  if (std::exchange(roll_is_owed_, false)) restart_.restart(std::nullopt);
}

void Supervisor::look_for_work() {
  scheduler_.look();
  doorbell_.listen();
  known_queues_watch_.look();
  key_watch_.listen();
}

void Supervisor::restart_workers() {
  if (phase_ == Phase::running) return restart_.restart(std::nullopt);
  log::warn("restart_refused", {{"reason", fmt::format("the supervisor is {}", name_of(phase_))}});
}

void Supervisor::upgrade() {
  if (phase_ == Phase::running || phase_ == Phase::quiet) return upgrade_.begin(std::nullopt);
  log::warn("upgrade_refused", {{"reason", fmt::format("the supervisor is {}", name_of(phase_))}});
}

void Supervisor::go_by(const Generation& generation) {
  config_ = generation.config;
  bodies_ = generation.bodies;
  follow_(*config_);
  scheduler_.set(scheduler_settings());
  heartbeat_.set_facts(process_facts());
  queue_rivals_.look(config_->capsules);
  heartbeat_.tell_metrics(config_->metrics);
  heartbeat_.beat();
}

void Supervisor::note_stopped_children() {
  for (const pid_t stopped : newly_stopped_children()) pool_.note_stopped(stopped);
}

void Supervisor::reap_children() {
  // One SIGCHLD may stand for several exits, so ask until nobody is left to report.  WNOWAIT keeps the pid taken while
  // its process group and its slot are looked at.
  // A job's fork bomb must not keep the loop: the rest has its turn at once.
  more_to_reap_ = true;
  std::vector<Ended> ended;
  for (int reaped = 0; reaped < most_reaped_a_turn; ++reaped) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
      more_to_reap_ = false;
      break;
    }
    if (detach_traced(info)) continue;
    const pid_t pid = info.si_pid;
    if (pool_.is_worker(pid)) kill(-pid, SIGKILL);  // whatever the job left running in its group
    Ended& one = ended.emplace_back(Ended{pid, exit_status(info), {}});
    wait4(pid, nullptr, WNOHANG, &one.used);
  }
  // Where the kernel has killed for want of memory, it was whoever had most.
  std::stable_sort(ended.begin(), ended.end(),
                   [](const Ended& a, const Ended& b) { return a.used.ru_maxrss > b.used.ru_maxrss; });
  for (const Ended& one : ended) note_end(one);
}

void Supervisor::note_end(const Ended& one) {
  const SteadyTime now = steady_now();
  if (auto reaped = pool_.reap(one.pid, one.status, one.used, now)) {
    note_end(std::move(*reaped));
  } else {
    children_.reaped(one.pid, one.status, now);  // or a job's orphan, of which nobody needs to know
  }
}

void Supervisor::note_end(WorkerPool::Reaped reaped) {
  strays_.look_soon();
  stray_deadline_ = steady_now() + time_for_strays;
  verbs_.reaped(reaped.pid);
  restart_.note_end(reaped, steady_now());
  if (refused_to_start(reaped)) note_failed_start(readiness_.is_hopeless_after_refusal(reaped.place));
  if (crashed_while_starting(reaped)) note_failed_start(readiness_.is_hopeless_after_crash(reaped.place));
  if (reaped.end.cut_short) heartbeat_.statistics().count_failure();
  if (!reaped.worker_death) return;
  recovery_.add(std::move(*reaped.worker_death));
}

void Supervisor::note_failed_start(bool is_hopeless) {
  if (!is_hopeless || phase_ != Phase::running || restart_.under_way()) return;
  log::error("no_worker_became_ready",
             {{"hint", "the lines above say why; `brood run --check` tries the libraries alone"}});
  fail(EX_CONFIG);
}

void Supervisor::note_capsules() {
  const std::vector<CapsuleSettings> capsules = pool_.capsules();
  known_queues_watch_.follow_names(std::any_of(
      capsules.begin(), capsules.end(), [](const CapsuleSettings& capsule) { return capsule.follows_all_queues; }));
  doorbell_.set_capsules(capsules);
}

void Supervisor::fail(int exit_code) {
  exit_code_ = exit_code;
  order(Order::stop);
}

void Supervisor::kill_overdue_children() {
  const SteadyTime now = steady_now();
  if (phase_ == Phase::stopping && now >= stop_deadline_ && pool_.occupied() > 0) order(Order::deadline_passed);
  pool_.job_ender().end_overdue(now);
  children_.kill_overdue(now);
}

void Supervisor::do_what_is_due() {
  const SteadyTime now = steady_now();
  redis_.catch_up(now);
  if (service_.watchdog_interval() && now >= next_watchdog_) {
    service_.watchdog();
    next_watchdog_ = now + *service_.watchdog_interval();
  }
  if (now >= next_status_) {
    pool_.look_after(now);
    readiness_.look();
    report_status();
    if (!readiness_.said() && !pool_.failing_starts().empty()) service_.extend_start(start_extension);
    next_status_ = now + status_interval;
  }
  if (redis_.connected() && now >= next_sweep_) {
    recovery_.sweep([this] { return OwnIncarnations{identity_.name, living_fields(), pool_.last_incarnation()}; });
    next_sweep_ = now + jittered(sweep_interval);  // many hosts may have started at one moment
  }
}

// A stray of the last workers still has its moment to die.
void Supervisor::begin_shutdown() {
  if ((phase_ != Phase::stopping && phase_ != Phase::killing) || pool_.occupied() > 0) return;
  const SteadyTime now = steady_now();
  if (!strays_.next_look() || now >= stray_deadline_) shutdown_.begin(now);
}

// Sleeps no longer than until the next thing that is due.
void Supervisor::keep_time() {
  const SteadyTime now = steady_now();
  SteadyTime next = next_status_;
  const auto sooner = [&](std::optional<SteadyTime> at) {
    if (at && *at < next) next = *at;
  };
  // Only what can be done when its time comes: anything else would keep the loop awake.
  if (phase_ == Phase::stopping && pool_.occupied() > 0) sooner(stop_deadline_);
  if (phase_ == Phase::running || phase_ == Phase::quiet) sooner(pool_.next_refill());
  sooner(pool_.job_ender().next_end());
  sooner(strays_.next_look());
  sooner(restart_.next_look());
  sooner(children_.next_deadline());
  if (redis_.connected()) sooner(recovery_.next_start());
  sooner(shutdown_.next_look(now));
  if (service_.watchdog_interval()) sooner(next_watchdog_);
  sooner(redis_.next_deadline());
  if (more_to_reap_) sooner(now);
  if (log::waiting_descriptor() >= 0) sooner(now + 50ms);
  alarm_.start_in(std::max(next - now, std::chrono::nanoseconds(0)));
}

// Orphans are looked for once the beat has said that we alone go by our name: another's workers are none.
void Supervisor::redis_is_usable() {
  heartbeat_.beat();
  if (phase_ == Phase::running) look_for_work();
  pruning_.start();
  queue_rivals_.look(config_->capsules);
  readiness_.look();
}

void Supervisor::report_status() {
  if (!service_.listening()) return;
  std::string line = fmt::format("{}: {} of {} workers, {} busy", name_of(phase_), pool_.ready(),
                                 config_->concurrency(), pool_.busy());
  if (const int finishing = pool_.finishing(); finishing > 0 && phase_ == Phase::running)
    line += fmt::format(", {} finishing", finishing);
  for (const std::string& more : {pool_.failing_starts(), restart_.status(), upgrade_.status()}) {
    if (!more.empty()) line += "; " + more;
  }
  if (const std::string refusal = redis_.refusal(); !refusal.empty())
    line += ", Redis cannot be used: " + refusal;
  else if (redis_.is_away())
    line += ", Redis is away";
  service_.status(log::printable(line));  // a line of its own would be another word to systemd
}

std::set<std::string> Supervisor::living_fields() const {
  std::set<std::string> fields = recovery_.fields_of(identity_.name);
  fields.merge(pool_.living_fields());
  return fields;
}

ProcessFacts Supervisor::process_facts() const {
  std::vector<CapsuleSettings> capsules = config_->capsules;
  std::erase_if(capsules, [](const CapsuleSettings& capsule) { return capsule.concurrency == 0; });
  return {.capsules = std::move(capsules),
          .tag = config_->tag,
          .labels = config_->labels,
          .version = std::string(version),
          .started_at = started_at_};
}

Scheduler::Settings Supervisor::scheduler_settings() const {
  return {.identity = identity_.name,
          .poll = {.average_scheduled = config_->poll_interval},
          .dead_limits = {config_->dead_max_jobs, config_->dead_timeout.count()},
          .leaves_to_ruby = config_->leaves_due_jobs_to_ruby};
}

bool Supervisor::belongs_to_us(pid_t pid) const { return pool_.is_worker(pid) || children_.is_one(pid); }

Descent Supervisor::descent_of(pid_t pid) const {
  if (belongs_to_us(pid)) return Descent::descendant;
  return brood::descent_of(pid, getpid(),
                           {.look = look_at, .children_of = children_in_proc, .is_foreign = [this](pid_t child) {
                              return strays_.is_foreign(child);
                            }});
}

}  // namespace brood
