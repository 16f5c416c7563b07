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
#include "shared/config/periodic_settings.hpp"
#include "shared/otlp/span_pipe.hpp"
#include "supervisor/process/stopped_children.hpp"
#include "supervisor/upgrade/handover_file.hpp"
#include "supervisor/version.hpp"
#include "supervisor/workers/worker_handover.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_for_strays = 1s;  // to die, when we stop
constexpr auto status_interval = 1s;
constexpr auto start_extension = 60s;  // longer than the pause before a place is filled again

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

// Empty: the program before knew nothing of this shard.
std::string tokens_left(const Handover& handover, int shard) {
  if (shard == 0) return handover.beat_tokens;
  const auto other = static_cast<std::size_t>(shard - 1);
  return other < handover.other_shards.size() ? handover.other_shards[other].beat_tokens : "";
}

}  // namespace

// ---- What the parts are

Supervisor::Supervisor(Setup setup)
    : config_(std::move(setup.config)),
      identity_(std::move(setup.identity)),
      runtime_directory_(setup.runtime_directory),
      config_file_(setup.config_file),
      bodies_(setup.bodies(config_)),
      follow_(std::move(setup.follow)),
      locate_(std::move(setup.locate)),
      started_at_(setup.handover ? setup.handover->started_at : wall_now()),
      children_(loop_,
                [this] {
                  if (bodies_.shield) bodies_.shield(config_->worker);
                }),
      signals_(loop_, own_processes_),
      slots_({.runtime_directory = setup.runtime_directory,
              .identity = identity_.name,
              .instance = setup.instance,
              .left = setup.handover.has_value()},
             *config_),
      generations_(generations_of(setup.handover, slots_, {1, config_, bodies_}, setup.bodies)),
      moves_(identity_.name, slots_, generations_, orders_, shards_),
      orders_(loop_, moves_, slots_, generations_),
      succession_(slots_, generations_, orders_),
      pressure_(orders_, config_->pressure),
      pool_(loop_, children_, slots_, generations_, orders_, moves_, identity_.name, *config_, setup.handover),
      own_processes_(loop_, pool_, children_),
      stack_log_(children_, bodies_, orders_),
      dead_files_(static_cast<int>(setup.shards.size())),
      registered_periodic_(registered_periodic_path(setup.runtime_directory, identity_.name)),
      readiness_(pool_, shards_, service_, setup.handover && pool_.was_ready()),
      restart_(loop_, children_, succession_, std::move(setup.config_source), std::move(setup.bodies), *this),
      upgrade_(children_, setup.successor, std::move(setup.read_file), *this, setup.failed),
      verbs_(*this, identity_.name, own_processes_, pool_, orders_, pressure_, restart_, upgrade_, stack_log_),
      shutdown_(loop_, identity_.name, shards_),
      web_(loop_, children_, std::move(setup.web)),
      spans_(loop_, children_, {identity_.name, identity_.hostname, std::string(version)},
             span_pipe_path(setup.runtime_directory, identity_.name), slots_.board.usage().spans),
      came_back_(!setup.failed.empty()),
      stands_(std::move(setup.stands)),
      wake_(loop_) {
  add_shards(setup);
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

void Supervisor::add_shards(Setup& setup) {
  // After a takeover: it was usable once.
  const auto give_up_after = setup.handover ? RedisLink::Patience(0) : config_->redis.give_up_after;
  const KnownShards all = KnownShards(setup.shards);
  shards_.reserve(max_shards);  // one may be added while somebody goes through them
  for (RedisAddress& address : setup.shards) {
    const int number = static_cast<int>(shards_.size());
    add_shard({.number = number,
               .all = all,
               .redis = std::move(address),
               .embedded_redis = std::move(setup.embedded_redis),
               .give_up_after = give_up_after,
               .beat_tokens = setup.handover ? BeatTokens(tokens_left(*setup.handover, number)) : BeatTokens()});
  }
}

void Supervisor::add_shard(Shard::Setup setup) {
  const Shard::Parts parts{loop_,    children_, bodies_,     orders_,   pool_,
                           metrics_, moves_,    dead_files_, identity_, runtime_directory_};
  Shard::Owner& owner = *this;
  shards_.push_back(std::make_unique<Shard>(parts, std::move(setup), owner));
}

// All workers that fetch know by now which shards are added, taken out and drained.
void Supervisor::follow_shards() {
  std::vector<RedisAddress> addresses = locate_(*config_);
  const KnownShards all(addresses);
  for (const auto& shard : shards_) {
    const bool was_drained = shard->is_drained();
    if (all.is_empty_place(shard->number()))
      shard->leave();
    else if (shard->is_served())
      shard->redis().follow(addresses[static_cast<std::size_t>(shard->number())]);
    shard->set_shards(all);
    if (shard->is_served() && shard->is_drained() != was_drained)
      log::info(was_drained ? "shard_drained_no_more" : "shard_drained", {{"shard", shard->name()}});
  }
  if (addresses.size() > shards_.size()) dead_files_.expect(static_cast<int>(addresses.size()));
  for (std::size_t number = shards_.size(); number < addresses.size(); ++number) {
    add_shard({.number = static_cast<int>(number),
               .all = all,
               .redis = std::move(addresses[number]),
               .give_up_after = RedisLink::Patience(0)});
    log::info("shard_added", {{"shard", shards_.back()->name()}, {"redis", shards_.back()->redis().describe()}});
    shards_.back()->open();
  }
}

// ---- What happens in a round

int Supervisor::run() {
  log::info(took_over_ ? "supervisor_took_over" : "supervisor_started",
            {{"identity", identity_.name},
             {"workers", pool_.size()},
             {"redis", describe_shards(&RedisLink::describe)},
             {"version", version}});
  if (stands_) stands_();
  capsules_changed();
  for (const auto& shard : shards_) shard->open();
  roll_is_owed_ |= took_over_ && !came_back_;
  if (phase_ == Phase::running) replace_workers_of_before();
  pool_.fill_vacant_places();
  web_.follow(config_);
  spans_.follow(config_->otlp);
  while (!shutdown_.done()) {
    keep_time();
    loop_.run_once();
    if (name_is_taken_) return give_way();
    hear_workers();
    handle_signals();
    reap_children();
    if (!pool_.awaits_newborn()) own_processes_.strays().look(steady_now());
    // While a stray is left, it may be the process of a job that still runs: that job must not begin elsewhere.
    if (!own_processes_.strays().next_look()) {
      for (const auto& shard : shards_) shard->recovery().release_held();
    }
    kill_overdue_children();
    do_what_is_due();
    restart_.advance(steady_now());
    readiness_.look();
    verbs_.advance();
    upgrade_.advance(steady_now());
    if (phase_ == Phase::running || phase_ == Phase::quiet) pool_.fill_vacant_places();
    for (const auto& shard : shards_) shard->recover(steady_now());
    begin_shutdown();
    shutdown_.advance(steady_now());
    log::flush();
  }
  spans_.finish(steady_now());
  while (!spans_.has_finished(steady_now())) {
    loop_.run_once();
    reap_children();
    log::flush();
  }
  // The next start needs this file to recover jobs that are left in flight, so then it stays.
  if (shutdown_.recovered_our_own()) slots_.board.remove_file();
  registered_periodic_.remove_file();
  log::info("supervisor_stopped", {{"exit_status", exit_code_}});
  verbs_.stopped();
  return exit_code_;
}

// Sets the supervisor's own timer: see Timer.  Only for things that can be done when their time comes; a deadline that
// passes without effect would keep the loop spinning.
void Supervisor::keep_time() {
  const SteadyTime now = steady_now();
  SteadyTime next = next_status_;
  if (phase_ == Phase::stopping && pool_.occupied() > 0) next = std::min(next, stop_deadline_);
  if (service_.watchdog_interval()) next = std::min(next, next_watchdog_);
  if (log::waiting_descriptor() >= 0) next = std::min<SteadyTime>(next, now + 50ms);
  if (ended_children_.more()) next = now;
  wake_.start_at(next);
}

void Supervisor::hear_workers() {
  const WorkerOrders::News news = orders_.take_news();
  for (const int shard : news.batching) shards_.at(static_cast<std::size_t>(shard))->look_for_batches();
  if (!news.left_wait) return;
  for (const auto& shard : shards_) shard->look_who_waits();
}

void Supervisor::reap_children() {
  // What a job or a library left running in a child's process group ends with it.
  const auto is_ours = [this](pid_t pid) { return pool_.is_worker(pid) || children_.is_one(pid); };
  for (const EndedChildren::One& one : ended_children_.reap(is_ours)) note_end(one);
}

void Supervisor::note_end(const EndedChildren::One& one) {
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
  verbs_.reaped(reaped.pid, reaped.worker_death ? &reaped.worker_death->worker : nullptr);
  restart_.note_end(reaped, steady_now());
  if (readiness_.is_hopeless_after(reaped) && phase_ == Phase::running && !restart_.under_way()) {
    log::error("no_worker_became_ready",
               {{"hint", "the lines above say why; `brood run --check` tries the libraries alone"}});
    fail(EX_CONFIG);
  }
  Shard& shard = shard_of(reaped.slot);
  if (reaped.end.cut_short) shard.heartbeat().statistics().count_failure();
  if (!reaped.worker_death) return;
  if (reaped.forked_jobs)
    shard.recovery().hold(std::move(*reaped.worker_death));
  else
    shard.recovery().add(std::move(*reaped.worker_death));
}

void Supervisor::kill_overdue_children() {
  const SteadyTime now = steady_now();
  if (phase_ == Phase::stopping && now >= stop_deadline_ && pool_.occupied() > 0) order(Order::deadline_passed);
  pool_.job_ender().end_overdue(now);
  children_.kill_overdue(now);
}

void Supervisor::do_what_is_due() {
  const SteadyTime now = steady_now();
  for (const auto& shard : shards_) shard->do_what_is_due(now);
  if (service_.watchdog_interval() && now >= next_watchdog_) {
    service_.watchdog();
    next_watchdog_ = now + *service_.watchdog_interval();
  }
  if (now >= next_status_) {
    pool_.look_after(now);
    pressure_.look(now);
    look_at_registered_periodic();
    if (phase_ == Phase::running) moves_.leave_those_away(now);
    report_status();
    service_.repeat();
    if (!readiness_.said() && !pool_.failing_starts().empty()) service_.extend_start(start_extension);
    next_status_ = now + status_interval;
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
  for (const auto& shard : shards_) shard->heartbeat().beat();
  report_status();
}

void Supervisor::wind_down() {
  const bool rolls = rolls_for_takeover_ && restart_.under_way();
  const auto before = restart_.present();
  restart_.abandon(fmt::format("the supervisor is {}", name_of(phase_)));
  roll_is_owed_ |= rolls && restart_.present() == before;
  if (phase_ != Phase::quiet) upgrade_.abandon(fmt::format("the supervisor is {}", name_of(phase_)));
  for (const auto& shard : shards_) shard->wind_down();
  if (phase_ == Phase::stopping) stop_deadline_ = steady_now() + config_->shutdown_timeout;
  if (phase_ != Phase::quiet) pool_.stop_spawning();
  if (phase_ != Phase::quiet) service_.stopping();
  if (phase_ != Phase::quiet) web_.stop();
  if (phase_ == Phase::killing)
    pool_.kill_all("it outlasted the shutdown timeout, or a second stop came");
  else
    orders_.tell_all(flags_in(phase_));
}

// Begins again all that a quiet has stopped.
void Supervisor::resume() {
  orders_.note_queues_changed(false);  // nobody looked during the quiet: what workers know of pauses is as old as that
  orders_.tell_all(flags_in(phase_));
  for (const auto& shard : shards_) shard->resume();
  replace_workers_of_before();
}

void Supervisor::replace_workers_of_before() {
  if (!std::exchange(roll_is_owed_, false)) return;
  restart_.restart(std::nullopt);
  rolls_for_takeover_ = restart_.under_way();
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

// Who ended the job by hand is told, here and on other machines.
void Supervisor::recovered(const WorkerDeath& worker_death) {
  verbs_.recovered(worker_death.worker);
  if (!worker_death.fate) return;
  for (const auto& shard : shards_) shard->heartbeat().beat();
}

// Workers may wait for a server that will never answer.
void Supervisor::redis_has_moved(int shard) {
  slots_.board.note_redis_moved(shard);
  for (const OccupiedSlot& occupied : orders_.occupied_slots()) {
    if (occupied.shard == shard) orders_.wake(occupied.slot);
  }
}

// After a takeover several shards are no mistake of the configuration: the program before us has served them.
void Supervisor::redis_is_unusable(RedisTrouble trouble) {
  const bool another_is_usable =
      (took_over_ && shards_.size() > 1) ||
      std::any_of(shards_.begin(), shards_.end(), [](const auto& shard) { return shard->redis().was_usable(); });
  const bool at_start = !took_over_ && !readiness_.said();
  if (const auto exit_status = exit_status_for(trouble, another_is_usable, at_start)) fail(*exit_status);
}

std::string Supervisor::why_not(int shard, const RedisData& data) const {
  std::vector<RedisData> others;
  for (std::size_t other = 0; other < shards_.size(); ++other) {
    if (static_cast<int>(other) != shard && shards_[other]->is_served())
      others.push_back(shards_[other]->redis().data());
  }
  return why_not_beside(data, others);
}

// The file must be that of the present generation also before the workers of another write theirs, and before another
// program takes over.
void Supervisor::look_at_registered_periodic() {
  if (!registered_periodic_.look(generations_.present_number(), generations_.another_comes())) return;
  for (const auto& shard : shards_) shard->follow_periodic();
}

void Supervisor::restart_begun() {
  rolls_for_takeover_ = false;
  look_at_registered_periodic();
  if (pool_.was_ready()) service_.reloading();
}

void Supervisor::restart_ended() {
  rolls_for_takeover_ = false;
  look_at_registered_periodic();
  if (readiness_.said()) service_.ready();
  report_status();
}

void Supervisor::capsules_changed() {
  const std::vector<CapsuleSettings> capsules = generations_.capsules();
  for (const auto& shard : shards_) shard->set_capsules(capsules);
}

void Supervisor::generation_changed(const Generation& present) {
  config_ = present.config;
  bodies_ = present.bodies;
  follow_(*config_);
  pressure_.set(config_->pressure);
  web_.follow(config_);
  spans_.follow(config_->otlp);
  follow_shards();
  for (const auto& shard : shards_) {
    if (shard->is_served()) shard->redis().sync(config_->redis.appendfsync);
    shard->follow_config();
  }
}

// Of one name the configuration's holds, also where that is for others to serve.
PeriodicJobSettings Supervisor::periodic_jobs() const {
  PeriodicJobSettings jobs = config_->periodic;
  for (const auto& [name, job] : registered_periodic_.jobs()) jobs.try_emplace(name, job);
  std::erase_if(jobs, [&](const auto& job) { return !job.second.is_enabled_on(config_->labels); });
  return jobs;
}

// That of the first that is connected.
bool Supervisor::goes_by_clock_of(int shard) const {
  const auto first = std::find_if(shards_.begin(), shards_.end(),
                                  [](const auto& candidate) { return candidate->redis().connected(); });
  return first == shards_.end() || first - shards_.begin() == shard;
}

ProcessFacts Supervisor::process_facts() const {
  std::vector<CapsuleSettings> capsules = config_->capsules;
  std::erase_if(capsules, [](const CapsuleSettings& capsule) { return capsule.concurrency == 0; });
  return {.capsules = std::move(capsules),
          .tag = config_->tag,
          .labels = config_->labels,
          .version = std::string(version),
          .started_at = started_at_,
          .config_file = config_file_};
}

std::vector<std::string> Supervisor::drained_shards() const {
  std::vector<std::string> names;
  for (const auto& shard : shards_) {
    if (shard->is_drained()) names.push_back(shard->name());
  }
  return names;
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
  if (const std::string trouble = log::trouble(); !trouble.empty()) line += "; the log is not written: " + trouble;
  line += state_of_redis();
  service_.status(log::printable(line));  // systemd would take a second line for another message
}

std::string Supervisor::describe_shards(std::string (RedisLink::*how)() const) const {
  std::string all;
  for (const auto& shard : shards_) {
    if (shard->is_served()) all += (all.empty() ? "" : " ") + (shard->redis().*how)();
  }
  return all;
}

// For people; empty: all is well.
std::string Supervisor::state_of_redis() const {
  std::string line;
  for (const auto& shard : shards_) {
    if (!shard->is_served()) continue;
    const RedisLink& redis = shard->redis();
    const std::string refusal = redis.refusal();
    if (!refusal.empty())
      line += fmt::format(", {} cannot be used: {}", redis.title(), refusal);
    else if (redis.is_away())
      line += fmt::format(", {} is away", redis.title());
  }
  return line;
}

// ---- How it ends; see also supervisor_gives_way.cpp

// Strays of the last workers have until `stray_deadline_` to die.
void Supervisor::begin_shutdown() {
  if ((phase_ != Phase::stopping && phase_ != Phase::killing) || pool_.occupied() > 0) return;
  const SteadyTime now = steady_now();
  if (!own_processes_.strays().next_look() || now >= stray_deadline_) shutdown_.begin(now);
}

}  // namespace brood
