#include "supervisor/supervisor.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "shared/check.hpp"
#include "shared/log.hpp"
#include "shared/store/keys.hpp"
#include "supervisor/stopped_children.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_for_strays = 1s;  // to die, when we stop
constexpr auto status_interval = 1s;
constexpr auto sweep_interval = 1h;
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
      signals_(loop_, {.is_ours = [this](pid_t pid) { return belongs_to_us(pid); },
                       .order = [this](Order wish) { order(wish); },
                       .restart = [this] { restart_workers(); },
                       .upgrade = [this] { upgrade(); },
                       .log_stacks = [this] { stack_log_.write(pool_.ask_for_stacks()); },
                       .child_changed = [this] { note_stopped_children(); }}),  // reap_children asks who has ended
      pool_(loop_, {.generation = std::make_shared<Generation>(Generation{1, config_, bodies_}),
                    .estate = WorkerPool::Estate::of(setup.handover, *config_, setup.bodies),
                    .identity = identity_.name,
                    .runtime_directory = setup.runtime_directory,
                    .instance = setup.instance,
                    .all_ready = [this] { readiness_.look(); },
                    .batching = [this] { batch_watch_.look_for_a_while(); },
                    .left_wait = [this] { doorbell_.look(); },
                    .let_go = [this](const SlotRecord& record) { unblocking_.unblock(record); }}),
      stack_log_(bodies_),
      recovery_(bodies_,
                [this](const Casualty& casualty) {
                  if (casualty.worker.identity == identity_.name)
                    pool_.recovered(casualty.worker.slot, casualty.worker.incarnation);
                }),
      inheritance_(recovery_, setup.runtime_directory),
      redis_(loop_, std::move(setup.redis), std::move(setup.embedded_redis),
             {.usable = [this] { redis_is_usable(); }, .unusable = [this](const std::string&) { fail(EX_CONFIG); }}),
      readiness_(pool_, redis_, service_, setup.handover && pool_.was_ready()),
      unblocking_(loop_, redis_.connection()),
      doorbell_(loop_, redis_.connection(),
                {.capsules = config_->capsules,
                 .slots = [this] { return pool_.fetching_slots(); },
                 .let_go = [this](const SlotRecord& record) { unblocking_.unblock(record); },
                 .wake = [this](int slot) { pool_.wake(slot); },
                 .may_let_go = [this] { return unblocking_.allowed(); }}),
      queue_watch_(loop_, redis_.connection(),
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
                  .usage = [this] { return pool_.take_class_usage(); }},
                 {.quiet = [this] { order(Order::quiet); },
                  .stop = [this] { order(Order::stop); },
                  .dump = [this] { stack_log_.write(pool_.ask_for_stacks()); },
                  .beaten =
                      [this](SteadyTime sent) {
                        pool_.note_host();
                        pool_.last_beat().store(sent.time_since_epoch().count());
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
      strays_([this](pid_t pid) { return belongs_to_us(pid); }),
      restart_(loop_, pool_,
               {.read_config = std::move(setup.read_config),
                .bodies = std::move(setup.bodies),
                .begun =
                    [this] {
                      if (pool_.was_ready()) service_.reloading();
                    },
                .capsules_changed = [this] { note_capsules(); },
                .adopted = [this](const Generation& generation) { adopt(generation); },
                .ended =
                    [this] {
                      if (readiness_.said()) service_.ready();
                      report_status();
                    }}),
      upgrade_(loop_, setup.successor,
               {.hand_over = [this] { return hand_over(); },
                .half_done = [this] { return half_done(); },
                .begun = [this] { report_status(); },
                .given_up = [this] { report_status(); }}),
      verbs_(pool_, restart_, upgrade_,
             {.identity = identity_.name,
              .is_ours = [this](pid_t pid) { return belongs_to_us(pid); },
              .phase = [this] { return phase_; },
              .order = [this](Order wish) { order(wish); },
              .log_stacks = [this] { stack_log_.write(pool_.ask_for_stacks()); },
              .facts = [this] { return process_facts(); }}),
      farewell_(identity_.name, recovery_, redis_, heartbeat_, orphan_watch_),
      alarm_(loop_, [] {}) {
  heartbeat_.tell_metrics(config_->metrics);
  // What dead workers leave behind becomes ours to end.
  check("prctl", prctl(PR_SET_CHILD_SUBREAPER, 1));
  UniqueFd listener;
  if (setup.handover) {
    listener.reset(setup.handover->control_listener);
    if (listener) fcntl(listener.get(), F_SETFD, FD_CLOEXEC);
    take_over(*setup.handover);
  }
  try {
    control_socket_ = std::make_unique<ControlSocket>(
        loop_, control_socket_path(setup.runtime_directory, identity_.name),
        [this](const std::string& verb, const std::vector<std::string>& arguments, const ControlSocket::Reply& reply) {
          verbs_.heed(verb, arguments, reply);
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
  note_capsules();
  redis_.open();
  if (took_over_ && phase_ == Phase::running) restart_.restart(std::nullopt);
  pool_.fill_vacant_places();
  while (!farewell_.done()) {
    keep_time();
    loop_.run_once();
    signals_.heed();
    reap_children();
    strays_.look(steady_now());
    kill_overdue_children();
    do_what_is_due();
    restart_.advance(steady_now());
    verbs_.advance();
    upgrade_.advance(steady_now());
    if (phase_ == Phase::running || phase_ == Phase::quiet) pool_.fill_vacant_places();
    if (redis_.connected()) recovery_.spawn_due(steady_now());
    begin_farewell();
    farewell_.advance(steady_now());
    log::flush();
  }
  // What is left in flight is recovered by what this file says of it.
  if (farewell_.recovered_our_own()) pool_.remove_scoreboard();
  log::info("supervisor_stopped", {{"exit_status", exit_code_}});
  verbs_.stopped();
  return exit_code_;
}

void Supervisor::order(Order order) {
  const Phase before = phase_;
  phase_ = next_phase(phase_, order);
  if (phase_ == before) return;
  log::info("phase", {{"from", name_of(before)}, {"to", name_of(phase_)}});
  restart_.abandon(fmt::format("the supervisor is {}", name_of(phase_)));
  if (phase_ != Phase::quiet) upgrade_.abandon(fmt::format("the supervisor is {}", name_of(phase_)));
  scheduler_.stop();
  doorbell_.stop();
  queue_watch_.stop();
  switch (phase_) {
    case Phase::running:
      break;
    case Phase::quiet:
      pool_.tell_all(flags_in(phase_));
      break;
    case Phase::stopping:
      stop_deadline_ = steady_now() + config_->shutdown_timeout;
      service_.stopping();
      pool_.tell_all(flags_in(phase_));
      break;
    case Phase::killing:
      service_.stopping();
      pool_.kill_all();
      break;
  }
  heartbeat_.beat();
  report_status();
}

void Supervisor::restart_workers() {
  if (phase_ == Phase::running) return restart_.restart(std::nullopt);
  log::warn("restart_refused", {{"reason", fmt::format("the supervisor is {}", name_of(phase_))}});
}

void Supervisor::upgrade() {
  if (phase_ == Phase::running || phase_ == Phase::quiet) return upgrade_.begin(std::nullopt);
  log::warn("upgrade_refused", {{"reason", fmt::format("the supervisor is {}", name_of(phase_))}});
}

void Supervisor::adopt(const Generation& generation) {
  config_ = generation.config;
  bodies_ = generation.bodies;
  follow_(*config_);
  scheduler_.set(scheduler_settings());
  heartbeat_.set_facts(process_facts());
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
  more_to_reap_ = false;
  for (int reaped = 0; reaped < most_reaped_a_turn; ++reaped) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    const pid_t pid = info.si_pid;
    const ExitStatus status = exit_status(info);
    if (pool_.is_worker(pid)) kill(-pid, SIGKILL);  // whatever the job left running in its group
    rusage used{};
    wait4(pid, nullptr, WNOHANG, &used);
    const SteadyTime now = steady_now();
    if (auto reaped = pool_.reap(pid, status, used, now)) {
      note_end(std::move(*reaped));
    } else if (!recovery_.reaped(pid, status, now) && !stack_log_.reaped(pid) && !restart_.reaped(pid, status) &&
               !upgrade_.reaped(pid, status)) {
      redis_.reaped(pid, status, now);  // or a job's orphan, of which nobody needs to know
    }
  }
  more_to_reap_ = true;
}

void Supervisor::note_end(WorkerPool::Reaped reaped) {
  strays_.look_soon();
  stray_deadline_ = steady_now() + time_for_strays;
  verbs_.reaped(reaped.pid);
  restart_.note_end(reaped, steady_now());
  if (!reaped.ready_at && !reaped.end.in_order) note_failed_start(reaped.place);
  if (reaped.end.cut_short) heartbeat_.statistics().count_failure();
  if (!reaped.casualty) return;
  recovery_.add(std::move(*reaped.casualty));
}

// That is a library or a configuration that an operator must mend.
void Supervisor::note_failed_start(int place) {
  if (phase_ != Phase::running || restart_.under_way() || !readiness_.is_hopeless_after_failed_start(place)) return;
  log::error("no_worker_became_ready",
             {{"hint", "the lines above say why; `brood run --check` tries the libraries alone"}});
  fail(EX_CONFIG);
}

void Supervisor::note_capsules() {
  const std::vector<CapsuleSettings> capsules = pool_.capsules();
  queue_watch_.follow_names(std::any_of(capsules.begin(), capsules.end(),
                                        [](const CapsuleSettings& capsule) { return capsule.follows_all_queues; }));
  doorbell_.set_capsules(capsules);
}

void Supervisor::fail(int exit_code) {
  exit_code_ = exit_code;
  order(Order::stop);
}

void Supervisor::kill_overdue_children() {
  const SteadyTime now = steady_now();
  if (phase_ == Phase::stopping && now >= stop_deadline_ && pool_.occupied() > 0) order(Order::deadline_passed);
  pool_.endings().end_overdue(now);
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
    pool_.look_after(now);
    report_status();
    next_status_ = now + status_interval;
  }
  if (redis_.connected() && now >= next_sweep_) {
    recovery_.sweep();
    next_sweep_ = now + sweep_interval;
  }
}

// A stray of the last workers still has its moment to die.
void Supervisor::begin_farewell() {
  if ((phase_ != Phase::stopping && phase_ != Phase::killing) || pool_.occupied() > 0) return;
  const SteadyTime now = steady_now();
  if (!strays_.next_look() || now >= stray_deadline_) farewell_.begin(now);
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
  sooner(pool_.endings().next_end());
  sooner(strays_.next_look());
  sooner(restart_.next_look());
  sooner(recovery_.next_kill());
  if (redis_.connected()) sooner(recovery_.next_start());
  sooner(farewell_.next_look(now));
  if (service_.watchdog_interval()) sooner(next_watchdog_);
  sooner(redis_.next_deadline());
  if (more_to_reap_) sooner(now);
  if (log::waiting_descriptor() >= 0) sooner(now + 50ms);
  alarm_.start_in(std::max(next - now, std::chrono::nanoseconds(0)));
}

void Supervisor::redis_is_usable() {
  heartbeat_.beat();
  if (phase_ == Phase::running) {
    scheduler_.look();
    doorbell_.listen();
    queue_watch_.look();
  }
  pruning_.start();
  orphan_watch_.look();
  readiness_.look();
}

void Supervisor::report_status() {
  if (!service_.listening()) return;
  std::string line = fmt::format("{}: {} of {} workers, {} busy", name_of(phase_), pool_.ready(),
                                 config_->concurrency(), pool_.busy());
  if (const int finishing = pool_.finishing(); finishing > 0 && phase_ == Phase::running)
    line += fmt::format(", {} finishing", finishing);
  for (const std::string& more : {restart_.status(), upgrade_.status()}) {
    if (!more.empty()) line += "; " + more;
  }
  if (redis_.is_away()) line += ", Redis is away";
  service_.status(line);
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
          .dead_limits = {config_->dead_max_jobs, config_->dead_timeout.count()}};
}

bool Supervisor::belongs_to_us(pid_t pid) const {
  return pid > 0 && (pool_.is_worker(pid) || recovery_.is_child(pid) || stack_log_.is_child(pid) ||
                     restart_.is_child(pid) || upgrade_.is_child(pid) || redis_.is_child(pid));
}

}  // namespace brood
