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
#include "shared/store/watched_keys.hpp"
#include "supervisor/process/jitter.hpp"
#include "supervisor/process/stopped_children.hpp"
#include "supervisor/version.hpp"
#include "supervisor/workers/worker_handover.hpp"

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

ExitStatus exit_status(const siginfo_t& info) {
  return {info.si_code == CLD_EXITED, info.si_status, info.si_code == CLD_DUMPED};
}

}  // namespace

// ---- What the parts are

Supervisor::Supervisor(Setup setup)
    : config_(std::move(setup.config)),
      identity_(std::move(setup.identity)),
      bodies_(setup.bodies(config_)),
      follow_(std::move(setup.follow)),
      started_at_(setup.handover ? setup.handover->started_at : wall_now()),
      children_(loop_),
      signals_(loop_, own_processes_),
      redis_(loop_, children_, std::move(setup.redis), std::move(setup.embedded_redis),
             setup.handover ? RedisLink::Patience(0) : config_->redis.give_up_after, *this),  // it was usable once
      unblocker_(loop_, redis_.connection()),
      slots_({.runtime_directory = setup.runtime_directory,
              .identity = identity_.name,
              .instance = setup.instance,
              .left = setup.handover.has_value()},
             *config_),
      generations_(generations_of(setup.handover, slots_,
                                  {1, config_, bodies_, std::make_shared<KeptLibraries>(config_->require)},
                                  setup.bodies)),
      orders_(loop_, unblocker_, slots_, generations_),
      succession_(slots_, generations_, orders_),
      pressure_(orders_, config_->pressure),
      pool_(loop_, children_, slots_, generations_, orders_, identity_.name, *config_, setup.handover),
      own_processes_(loop_, pool_, children_),
      stack_log_(children_, bodies_, orders_),
      readiness_(pool_, redis_, service_, setup.handover && pool_.was_ready()),
      recovery_(loop_, children_, bodies_, [this](const WorkerDeath& answered) { pool_.recovered(answered.worker); }),
      pruning_(loop_, redis_.connection()),
      dead_supervisors_(recovery_, pruning_, identity_.name, setup.runtime_directory),
      orphan_watch_(
          loop_, redis_.connection(), identity_, [this] { return living_fields(); }, dead_supervisors_),
      doorbell_(loop_, redis_.connection(), orders_),
      known_queues_watch_(loop_, redis_.connection(), orders_, [this](const KnownQueues& now) { doorbell_.know(now); }),
      batch_watch_(loop_, redis_.connection(), identity_.name, orders_),
      queue_rivals_(redis_.connection()),
      scheduler_(loop_, redis_.connection(), scheduler_settings()),
      heartbeat_(loop_, redis_.connection(), identity_, process_facts(), pool_, *this,
                 setup.handover ? BeatTokens(setup.handover->beat_tokens) : BeatTokens()),
      key_watch_(loop_, redis_.connection(), keys_to_watch(), [this](bool hears) { rely_on_being_told(hears); }),
      restart_(loop_, children_, succession_, std::move(setup.read_config), std::move(setup.bodies), *this),
      upgrade_(children_, setup.successor, std::move(setup.read_file), *this, setup.failed),
      verbs_(*this, identity_.name, own_processes_, pool_, orders_, pressure_, restart_, upgrade_, stack_log_),
      shutdown_(loop_, identity_.name, recovery_, redis_, heartbeat_, orphan_watch_),
      came_back_(!setup.failed.empty()),
      stands_(std::move(setup.stands)),
      wake_(loop_) {
  heartbeat_.tell_metrics(config_->metrics);
  check("prctl", prctl(PR_SET_CHILD_SUBREAPER, 1));  // what dead workers leave behind becomes ours to end
  UniqueFd listener = setup.handover ? own_descriptor(setup.handover->control_listener) : UniqueFd();
  if (setup.handover) take_over(*setup.handover);
  listen_at(control_socket_path(setup.runtime_directory, identity_.name), std::move(listener));
}

Supervisor::~Supervisor() = default;

void Supervisor::listen_at(const std::string& path, UniqueFd listener) {
  using Arguments = std::vector<std::string>;
  try {
    control_socket_ = std::make_unique<ControlSocket>(
        loop_, path,
        [this](const std::string& verb, const Arguments& arguments, const ControlSocket::Reply& reply) {
          verbs_.handle(verb, arguments, reply);
        },
        std::move(listener));
  } catch (const std::runtime_error& error) {
    log::warn("no_control_socket", {{"reason", error.what()}});
  }
}

// What changes in Redis, and who looks at it.
KeyWatch::Keys Supervisor::keys_to_watch() {
  const WatchedKeys keys = watched_keys(identity_.name);
  return {{keys.schedule.name(), [this] { scheduler_.glance(); }},
          {keys.paused.name(), [this] { known_queues_watch_.look(); }},
          {keys.queues.name(), [this] { known_queues_watch_.look(); }},
          {keys.signals.name(), [this] { heartbeat_.look_for_signals(); }}};
}

void Supervisor::rely_on_being_told(bool told) {
  scheduler_.rely_on_being_told(told);
  known_queues_watch_.rely_on_being_told(told);
  heartbeat_.rely_on_being_told(told);
}

// ---- What happens in a round

int Supervisor::run() {
  log::info(
      took_over_ ? "supervisor_took_over" : "supervisor_started",
      {{"identity", identity_.name}, {"workers", pool_.size()}, {"redis", redis_.describe()}, {"version", version}});
  if (stands_) stands_();
  capsules_changed();
  redis_.open();
  const bool rolls = took_over_ && !came_back_;
  if (rolls && phase_ == Phase::running) restart_.restart(std::nullopt);
  roll_is_owed_ = rolls && phase_ == Phase::quiet;
  pool_.fill_vacant_places();
  while (!shutdown_.done()) {
    keep_time();
    loop_.run_once();
    if (name_is_taken_) return give_way();
    hear_workers();
    handle_signals();
    reap_children();
    if (!pool_.awaits_newborn()) own_processes_.strays().look(steady_now());
    // Until then the process of a job may run on, and the job must not begin elsewhere.
    if (!own_processes_.strays().next_look()) recovery_.release_held();
    kill_overdue_children();
    do_what_is_due();
    restart_.advance(steady_now());
    readiness_.look();
    verbs_.advance();
    upgrade_.advance(steady_now());
    if (phase_ == Phase::running || phase_ == Phase::quiet) pool_.fill_vacant_places();
    if (redis_.connected()) recovery_.spawn_due(steady_now());
    begin_shutdown();
    shutdown_.advance(steady_now());
    log::flush();
  }
  // What is left in flight is recovered by what this file says of it.
  if (shutdown_.recovered_our_own()) slots_.board.remove_file();
  log::info("supervisor_stopped", {{"exit_status", exit_code_}});
  verbs_.stopped();
  return exit_code_;
}

// Its own timer: see Timer.  Only for what can be done when its time comes; anything else would keep the loop awake.
void Supervisor::keep_time() {
  const SteadyTime now = steady_now();
  SteadyTime next = next_status_;
  if (phase_ == Phase::stopping && pool_.occupied() > 0) next = std::min(next, stop_deadline_);
  if (service_.watchdog_interval()) next = std::min(next, next_watchdog_);
  if (log::waiting_descriptor() >= 0) next = std::min<SteadyTime>(next, now + 50ms);
  if (more_to_reap_) next = now;
  wake_.start_at(next);
}

void Supervisor::hear_workers() {
  const WorkerOrders::News news = orders_.take_news();
  if (news.batching) batch_watch_.look_for_a_while();
  if (news.left_wait) doorbell_.look();
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
    // Whatever a job, or a library, left running in its group.
    if (pool_.is_worker(pid) || children_.is_one(pid)) kill(-pid, SIGKILL);
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
  own_processes_.strays().look_soon();
  stray_deadline_ = steady_now() + time_for_strays;
  verbs_.reaped(reaped.pid);
  restart_.note_end(reaped, steady_now());
  if (readiness_.is_hopeless_after(reaped) && phase_ == Phase::running && !restart_.under_way()) {
    log::error("no_worker_became_ready",
               {{"hint", "the lines above say why; `brood run --check` tries the libraries alone"}});
    fail(EX_CONFIG);
  }
  if (reaped.end.cut_short) heartbeat_.statistics().count_failure();
  if (!reaped.worker_death) return;
  if (reaped.forked_jobs)
    recovery_.hold(std::move(*reaped.worker_death));
  else
    recovery_.add(std::move(*reaped.worker_death));
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
    pressure_.look(now);
    report_status();
    if (!readiness_.said() && !pool_.failing_starts().empty()) service_.extend_start(start_extension);
    next_status_ = now + status_interval;
  }
  if (redis_.connected() && now >= next_sweep_) {
    recovery_.sweep([this] {
      return OwnIncarnations{identity_.name, living_fields(), slots_.table.last_incarnation()};
    });
    next_sweep_ = now + jittered(sweep_interval);  // many hosts may have started at one moment
  }
}

// ---- What happens at a signal, and at other orders

void Supervisor::handle_signals() {
  using Wish = OperatorSignals::Wish;
  while (const auto wish = signals_.next()) {
    switch (*wish) {
      case Wish::stop:
        order(Order::stop);
        break;
      case Wish::quiet:
        order(Order::quiet);
        break;
      case Wish::restart:
        restart_workers();
        break;
      case Wish::upgrade:
        upgrade();
        break;
      case Wish::log_stacks:
        stack_log_.write();
        break;
      case Wish::child_changed:  // reap_children asks who has ended
        for (const pid_t stopped : newly_stopped_children()) pool_.note_stopped(stopped);
        break;
    }
  }
}

// By the Web UI's buttons, or by a command to the whole fleet.
void Supervisor::signal_came_from_redis(const std::string& signal) {
  if (signal == "TSTP") return order(Order::quiet);
  if (signal == "TERM") return order(Order::stop);
  if (signal == "TTIN") return stack_log_.write();
  verbs_.handle(signal);
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
  if (phase_ != Phase::quiet) pool_.stop_spawning();
  if (phase_ != Phase::quiet) service_.stopping();
  if (phase_ == Phase::killing)
    pool_.kill_all("it outlasted the shutdown timeout, or a second stop came");
  else
    orders_.tell_all(flags_in(phase_));
}

// All that a quiet has stopped.
void Supervisor::resume() {
  scheduler_.resume(scheduler_settings());
  orders_.note_queues_changed(false);  // nobody has looked: what workers know of pauses is as old as the quiet
  orders_.tell_all(flags_in(phase_));
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

void Supervisor::fail(int exit_code) {
  exit_code_ = exit_code;
  order(Order::stop);
}

// ---- What its parts tell and ask it

// Orphans are looked for once the beat has said that we alone go by our name: another's workers are none.
void Supervisor::redis_is_usable() {
  heartbeat_.beat();
  if (phase_ == Phase::running) look_for_work();
  pruning_.start();
  queue_rivals_.look(config_->capsules);
}

void Supervisor::was_unlisted() { next_sweep_ = std::min(next_sweep_, steady_now() + time_to_be_listed); }

void Supervisor::restart_begun() {
  if (pool_.was_ready()) service_.reloading();
}

void Supervisor::restart_ended() {
  if (readiness_.said()) service_.ready();
  report_status();
}

void Supervisor::capsules_changed() {
  const std::vector<CapsuleSettings> capsules = generations_.capsules();
  known_queues_watch_.follow_names(std::any_of(
      capsules.begin(), capsules.end(), [](const CapsuleSettings& capsule) { return capsule.follows_all_queues; }));
  doorbell_.set_capsules(capsules);
}

void Supervisor::generation_changed(const Generation& present) {
  config_ = present.config;
  bodies_ = present.bodies;
  follow_(*config_);
  pressure_.set(config_->pressure);
  scheduler_.set(scheduler_settings());
  heartbeat_.set_facts(process_facts());
  queue_rivals_.look(config_->capsules);
  heartbeat_.tell_metrics(config_->metrics);
  heartbeat_.beat();
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

void Supervisor::report_status() {
  if (!service_.listening()) return;
  std::string line = fmt::format("{}: {} of {} workers, {} busy", name_of(phase_), pool_.ready(),
                                 config_->concurrency(), pool_.busy());
  if (const int finishing = orders_.finishing(); finishing > 0 && phase_ == Phase::running)
    line += fmt::format(", {} finishing", finishing);
  for (const std::string& more : {pool_.failing_starts(), restart_.status(), upgrade_.status(), pressure_.status()}) {
    if (!more.empty()) line += "; " + more;
  }
  if (const std::string refusal = redis_.refusal(); !refusal.empty())
    line += ", Redis cannot be used: " + refusal;
  else if (redis_.is_away())
    line += ", Redis is away";
  service_.status(log::printable(line));  // a line of its own would be another word to systemd
}

// ---- How it ends; see also supervisor_gives_way.cpp

// A stray of the last workers still has its moment to die.
void Supervisor::begin_shutdown() {
  if ((phase_ != Phase::stopping && phase_ != Phase::killing) || pool_.occupied() > 0) return;
  const SteadyTime now = steady_now();
  if (!own_processes_.strays().next_look() || now >= stray_deadline_) shutdown_.begin(now);
}

}  // namespace brood
