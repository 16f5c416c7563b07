#include "supervisor/supervisor.hpp"

#include <sys/prctl.h>
#include <sysexits.h>

#include <algorithm>
#include <set>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/config/described_classes.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/errors/error_spool.hpp"
#include "shared/otlp/span_pipe.hpp"
#include "supervisor/schedule/periodic_by_class.hpp"
#include "supervisor/upgrade/handover_file.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_for_strays = 1s;  // how long strays may take to die at a stop
constexpr auto status_interval = 1s;
constexpr auto start_extension = 60s;  // longer than the pause before a slot is refilled

// Returns an empty string if the previous program did not know this shard.
std::string tokens_left(const Handover& handover, int shard) {
  if (shard == 0) return handover.beat_tokens;
  const auto other = static_cast<std::size_t>(shard - 1);
  return other < handover.other_shards.size() ? handover.other_shards[other].beat_tokens : "";
}

// The heartbeats in shards that are not served any more.  If such a shard is added again, its heartbeat from before may
// still be there, for a minute.
BeatTokens tokens_of_left(const ShardSet<Shard>& shards) {
  BeatTokens tokens;
  for (const Shard& shard : shards) {
    if (!shard.is_served()) tokens.add(shard.heartbeat().tokens());
  }
  return tokens;
}

}  // namespace

// ---- Construction

Supervisor::Supervisor(Setup setup)
    : config_(std::move(setup.config)),
      program_(setup.program_of(config_)),
      identity_(std::move(setup.identity)),
      runtime_directory_(setup.runtime_directory),
      config_file_(setup.config_file),
      follow_(std::move(setup.follow)),
      locate_(std::move(setup.locate)),
      started_at_(setup.handover ? setup.handover->started_at : wall_now()),
      facts_(facts_of_present()),
      children_(loop_, [this] { program_->shield(config_->worker); }),
      signals_(loop_, own_processes_),
      fleet_({.loop = loop_,
              .children = children_,
              .identity = identity_,
              .first = std::make_shared<const Generation>(Generation{1, config_, program_}),
              .program_of = std::move(setup.program_of),
              .config_source = std::move(setup.config_source),
              .shards = shards_,
              .runtime_directory = setup.runtime_directory,
              .instance = setup.instance,
              .left = setup.handover}),
      own_processes_(loop_, fleet_.pool, children_),
      dead_files_(static_cast<int>(setup.shards.size())),
      registered_periodic_(registered_periodic_path(setup.runtime_directory, identity_.name)),
      builds_(described_classes_path(setup.runtime_directory, identity_.name)),
      phases_(loop_, identity_.name, fleet_.pool, shards_, setup.handover && fleet_.pool.was_ready()),
      upgrade_(
          children_, setup.successor, std::move(setup.read_file), [this] { return hand_over(); }, setup.failed),
      operators_({.loop = loop_,
                  .identity = identity_,
                  .signals = signals_,
                  .own = own_processes_,
                  .fleet = fleet_,
                  .shards = shards_,
                  .phases = phases_,
                  .upgrade = upgrade_,
                  .facts = facts_}),
      web_(loop_, children_, std::move(setup.web)),
      spans_(loop_, children_, {identity_.name, identity_.hostname, std::string(version)},
             span_pipe_path(setup.runtime_directory, identity_.name), fleet_.slots.board.usage().spans),
      reports_(loop_, children_, error_spool_path(setup.runtime_directory, identity_.name),
               fleet_.slots.board.usage().errors),
      came_back_(!setup.failed.empty()),
      stands_(std::move(setup.stands)),
      wake_(loop_) {
  add_shards(setup);
  check("prctl", prctl(PR_SET_CHILD_SUBREAPER, 1));  // so that we can end what dead workers leave behind
  UniqueFd listener = setup.handover ? own_descriptor(setup.handover->control_listener) : UniqueFd();
  if (setup.handover) take_over(*setup.handover);
  operators_.listen(control_socket_path(setup.runtime_directory, identity_.name), std::move(listener));
}

void Supervisor::add_shards(Setup& setup) {
  // After a takeover Redis is tried forever: the previous program has used it.
  const auto give_up_after = setup.handover ? RedisLink::Patience(0) : config_->redis.give_up_after;
  const KnownShards all = KnownShards(setup.shards);
  for (RedisAddress& address : setup.shards) {
    const int number = shards_.size();
    add_shard({.number = number,
               .all = all,
               .redis = std::move(address),
               .embedded_redis = std::move(setup.embedded_redis),
               .give_up_after = give_up_after,
               .beat_tokens = setup.handover ? BeatTokens(tokens_left(*setup.handover, number)) : BeatTokens()});
  }
}

void Supervisor::add_shard(Shard::Setup setup) {
  const Shard::Parts parts{loop_,        children_,   program_, fleet_.orders, fleet_.pool,       metrics_,
                           fleet_.moves, dead_files_, shards_,  identity_,     runtime_directory_};
  Shard& shard = shards_.add(std::make_unique<Shard>(parts, std::move(setup), shard_settings()));
  if (phases_.now() != Phase::running) shard.wind_down();
}

// ---- The loop

int Supervisor::run() {
  begin();
  while (!phases_.shutdown.done()) {
    keep_time();
    loop_.run_once();
    if (name_is_taken()) return give_way();
    operators_.obey_signals();
    enter_phases();
    hear_workers();
    reap_children();
    hear_restart();
    look_for_strays();
    const SteadyTime now = steady_now();
    do_what_is_due(now);
    hear_shards();
    enter_phases();
    fleet_.restart.advance(now);
    hear_restart();
    phases_.readiness.look();
    operators_.advance();
    advance_upgrade(now);
    if (phases_.may_spawn()) fleet_.pool.fill_vacant_places();
    for (Shard& shard : shards_) shard.recover(now);
    shut_down(now);
    log::flush();
  }
  let_reports_finish();
  // The next start needs this file if jobs are left in flight.
  if (phases_.shutdown.recovered_our_own()) fleet_.slots.board.remove_file();
  registered_periodic_.remove_file();
  builds_.remove_file();
  log::info("supervisor_stopped", {{"exit_status", phases_.exit_status()}});
  operators_.stopped();
  return phases_.exit_status();
}

void Supervisor::begin() {
  log::info(took_over_ ? "supervisor_took_over" : "supervisor_started",
            {{"identity", identity_.name},
             {"workers", fleet_.pool.size()},
             {"redis", describe_shards(&RedisLink::describe)},
             {"environment", config_->environment},
             {"version", version}});
  if (stands_) stands_();
  show_state();
  for (Shard& shard : shards_) {
    shard.set_capsules(fleet_.generations.capsules());
    shard.open();
  }
  if (took_over_ && !came_back_) fleet_.owe_a_roll();
  if (phases_.now() == Phase::running) fleet_.replace_workers_of_before();
  fleet_.pool.fill_vacant_places();
  web_.follow(config_);
  spans_.follow(config_->otlp);
  reports_.follow(config_, program_);
}

// Sets the supervisor's own timer: see Timer.  Each deadline here must lead to an action when it passes; otherwise the
// loop would spin.
void Supervisor::keep_time() {
  const SteadyTime now = steady_now();
  SteadyTime next = std::min(next_status_, phases_.next_deadline().value_or(next_status_));
  if (log::waiting_descriptor() >= 0) next = std::min<SteadyTime>(next, now + 50ms);
  if (ended_children_.more()) next = now;
  wake_.start_at(next);
}

void Supervisor::hear_workers() {
  const WorkerOrders::News news = fleet_.orders.take_news();
  for (const int shard : news.batching) shards_[shard].look_for_batches();
  if (!news.left_wait) return;
  for (Shard& shard : shards_) shard.look_who_waits();
}

void Supervisor::reap_children() {
  const auto is_ours = [this](pid_t pid) { return fleet_.pool.is_worker(pid) || children_.is_one(pid); };
  // What a job or a library left in a child's process group ends with that child.
  for (const EndedChildren::One& one : ended_children_.reap(is_ours)) {
    const SteadyTime now = steady_now();
    if (auto worker = fleet_.pool.reap(one.pid, one.status, one.used, now))
      note_end(std::move(*worker));
    else
      children_.reaped(one.pid, one.status, now);  // else an orphan of a job
  }
}

void Supervisor::note_end(EndedWorker worker) {
  own_processes_.strays().look_soon();
  stray_deadline_ = steady_now() + time_for_strays;
  operators_.reaped(worker.exit.pid, worker.death ? &worker.death->worker : nullptr);
  fleet_.restart.note_end(worker, steady_now());
  if (phases_.readiness.is_hopeless_after(worker) && phases_.now() == Phase::running && !fleet_.restart.under_way()) {
    log::error("no_worker_became_ready",
               {{"hint", "the lines above have the reason; `brood run --check` tries the libraries alone"}});
    phases_.fail(EX_CONFIG);
  }
  Shard& shard = shards_[fleet_.pool.shard_of(worker.exit.slot)];
  if (worker.end.cut_short) shard.heartbeat().statistics().count_failure();
  if (!worker.death) return;
  if (worker.exit.forked_jobs())
    shard.recovery().hold(std::move(*worker.death));
  else
    shard.recovery().add(std::move(*worker.death));
}

// Strays may belong to a job that still runs: it must not begin elsewhere before they are gone.
void Supervisor::look_for_strays() {
  if (!fleet_.pool.awaits_newborn()) own_processes_.strays().look(steady_now());
  if (own_processes_.strays().next_look()) return;
  for (Shard& shard : shards_) shard.recovery().release_held();
}

void Supervisor::do_what_is_due(SteadyTime now) {
  phases_.do_what_is_due(now);
  fleet_.pool.job_ender().end_overdue(now);
  children_.kill_overdue(now);
  for (Shard& shard : shards_) shard.do_what_is_due(now);
  if (now < next_status_) return;
  look_after_workers(now);
  report_status();
  show_state();
  next_status_ = now + status_interval;
}

void Supervisor::look_after_workers(SteadyTime now) {
  fleet_.pool.look_after(now);
  fleet_.pressure.look(now);
  look_at_registered_periodic();
  look_at_classes();
  if (phases_.now() == Phase::running) fleet_.moves.leave_those_away(now);
  phases_.service.repeat();
  if (!phases_.readiness.said() && !fleet_.pool.failing_starts().empty()) phases_.service.extend_start(start_extension);
}

// Strays of the last workers have until `stray_deadline_` to die.
void Supervisor::shut_down(SteadyTime now) {
  const bool workers_are_gone = !phases_.may_spawn() && fleet_.pool.occupied() == 0;
  if (workers_are_gone && (!own_processes_.strays().next_look() || now >= stray_deadline_)) phases_.shutdown.begin(now);
  phases_.shutdown.advance(now);
}

// Lets the exporter and the reporter finish, at the same time.
void Supervisor::let_reports_finish() {
  spans_.finish(steady_now());
  reports_.finish(steady_now());
  const auto have_finished = [this](SteadyTime now) { return spans_.has_finished(now) && reports_.has_finished(now); };
  while (!have_finished(steady_now())) {
    loop_.run_once();
    reap_children();
    log::flush();
  }
}

// ---- Phases

void Supervisor::enter_phases() {
  for (const Phase phase : phases_.take_entered()) {
    enter(phase);
    show_state();
    for (Shard& shard : shards_) shard.heartbeat().beat();
    report_status();
  }
}

void Supervisor::enter(Phase phase) {
  if (phase == Phase::running) {
    fleet_.enter(phase);
    for (Shard& shard : shards_) shard.resume();
    return fleet_.replace_workers_of_before();
  }
  const std::string why = fmt::format("the supervisor is {}", name_of(phase));
  fleet_.abandon_restart(why);
  hear_restart();
  for (Shard& shard : shards_) shard.wind_down();
  if (phase != Phase::quiet) {
    upgrade_.abandon(why);
    if (phase == Phase::stopping) phases_.limit_stop(config_->shutdown_timeout);
    phases_.service.stopping();
    web_.stop();
  }
  fleet_.enter(phase);
}

// ---- Restarts

void Supervisor::hear_restart() {
  for (std::optional<RollingRestart::News> news; (news = fleet_.restart.next_news());) {
    fleet_.note_restart(*news);
    switch (*news) {
      case RollingRestart::News::begun:
        look_at_registered_periodic();
        if (fleet_.pool.was_ready()) phases_.service.reloading();
        break;
      case RollingRestart::News::capsules_changed:
        for (Shard& shard : shards_) shard.set_capsules(fleet_.generations.capsules());
        break;
      case RollingRestart::News::generation_changed:
        follow(*fleet_.restart.present());
        break;
      case RollingRestart::News::adopted:
        fleet_.restart.conclude();
        break;
      case RollingRestart::News::ended:
        look_at_registered_periodic();
        if (phases_.readiness.said()) phases_.service.ready();
        report_status();
        show_state();
        break;
    }
  }
}

void Supervisor::follow(const Generation& present) {
  config_ = present.config;
  program_ = present.program;
  facts_ = facts_of_present();
  follow_(*config_);
  fleet_.pressure.set(config_->pressure);
  web_.follow(config_);
  spans_.follow(config_->otlp);
  reports_.follow(config_, program_);
  follow_shards();
  shards_.each([&](Shard& shard) { shard.redis().sync(config_->redis.appendfsync); });
  for (Shard& shard : shards_) shard.follow_config(shard_settings());
  look_at_classes();  // before a tick is claimed by the new rules
}

// ---- Shards

// Called when all workers that fetch know which shards are added, removed and drained.
void Supervisor::follow_shards() {
  std::vector<RedisAddress> addresses = locate_(*config_);
  const KnownShards all(addresses);
  for (Shard& shard : shards_) {
    const bool was_drained = shard.is_drained();
    if (all.is_empty_place(shard.number()))
      shard.leave();
    else if (shard.is_served())
      shard.redis().follow(addresses[static_cast<std::size_t>(shard.number())]);
    shard.set_shards(all);
    if (shard.is_served() && shard.is_drained() != was_drained)
      log::info(was_drained ? "shard_drained_no_more" : "shard_drained", {{"shard", shard.name()}});
  }
  const int places = static_cast<int>(addresses.size());
  if (places > shards_.size()) dead_files_.expect(places);
  for (int number = shards_.size(); number < places; ++number) {
    add_shard({.number = number,
               .all = all,
               .redis = std::move(addresses[static_cast<std::size_t>(number)]),
               .give_up_after = RedisLink::Patience(0),
               .beat_tokens = tokens_of_left(shards_)});
    Shard& added = shards_[number];
    log::info("shard_added", {{"shard", added.name()}, {"redis", added.redis().describe()}});
    added.open();
  }
}

void Supervisor::hear_shards() {
  bool rules_changed = false;
  for (Shard& shard : shards_) {
    const Shard::News news = shard.take_news();
    rules_changed |= news.rules_changed;
    if (news.trouble) judge(*news.trouble);
    if (news.has_moved) note_moved(shard.number());
    for (const std::string& signal : news.signals) operators_.obey_redis(signal);
    for (const WorkerDeath& death : news.recovered) {
      operators_.recovered(death.worker);
      if (!death.fate) continue;
      for (Shard& each : shards_) each.heartbeat().beat();  // an operator on another machine waits for this
    }
  }
  if (rules_changed) follow_periodic_rules();
}

void Supervisor::follow_periodic_rules() {
  for (Shard& shard : shards_) shard.follow_periodic(periodic_jobs());
  shards_.each([&](const Shard& shard) {
    for (const auto& [name, job] : shard.stored_periodic()) {
      if (config_->periodic.contains(name) || registered_periodic_.jobs().contains(name))
        log::warn("periodic_rule_hidden",
                  {{"name", name}, {"hint", "the configuration or a job library has the name"}});
    }
  });
}

// After a takeover of several shards, another one counts as usable: the previous program has served them.
void Supervisor::judge(RedisTrouble trouble) {
  bool another_is_usable = took_over_ && shards_.are_several();
  for (const Shard& shard : shards_) another_is_usable |= shard.redis().was_usable();
  const bool at_start = !took_over_ && !phases_.readiness.said();
  if (const auto exit_status = exit_status_for(trouble, another_is_usable, at_start)) phases_.fail(*exit_status);
}

// Workers may be waiting for a server that will never answer.
void Supervisor::note_moved(int shard) {
  fleet_.slots.board.note_redis_moved(shard);
  for (const OccupiedSlot& occupied : fleet_.orders.occupied_slots()) {
    if (occupied.shard == shard) fleet_.orders.wake(occupied.slot);
  }
}

bool Supervisor::name_is_taken() const {
  bool is_taken = false;
  for (const Shard& shard : shards_) is_taken |= shard.name_is_taken();
  return is_taken;
}

Shard::Settings Supervisor::shard_settings() const { return {config_, facts_, periodic_jobs(), builds_.builds()}; }

// A job of the configuration wins over a library's job of the same name, even if only other processes run it.  Both win
// over a rule in Redis.
PeriodicJobSettings Supervisor::periodic_jobs() const {
  PeriodicJobSettings jobs = config_->periodic;
  for (const auto& [name, job] : registered_periodic_.jobs()) jobs.try_emplace(name, job);
  shards_.each([&](const Shard& shard) {
    for (const auto& [name, job] : shard.stored_periodic()) jobs.try_emplace(name, job);
  });
  std::erase_if(jobs, [&](const auto& job) { return !job.second.is_enabled_on(config_->labels); });
  if (!rule_classes_.are_known()) std::erase_if(jobs, [](const auto& job) { return job.second.goes_by_class; });
  return by_class(std::move(jobs), rule_classes_.classes());
}

// Reads the rules that the present generation's libraries registered.  Must be done before workers of another
// generation write theirs, and before another program takes over.
void Supervisor::look_at_registered_periodic() {
  if (!registered_periodic_.look(fleet_.generations.present_number(), fleet_.generations.another_comes())) return;
  for (Shard& shard : shards_) shard.follow_periodic(periodic_jobs());
}

void Supervisor::look_at_classes() {
  std::set<std::uint32_t> generations;
  for (const auto& [number, generation] : fleet_.generations.known()) generations.insert(number);
  const bool has_workers =
      std::ranges::any_of(config_->capsules, [](const CapsuleSettings& capsule) { return capsule.concurrency > 0; });
  const std::chrono::nanoseconds patience = has_workers && !config_->require.empty() ? config_->boot_timeout : 0ms;
  const bool others = builds_.look(generations);
  const BuildOfClasses* const told = builds_.of(fleet_.generations.present_number());
  const bool others_for_rules = rule_classes_.look(told == nullptr ? nullptr : &told->document, steady_now(), patience);
  for (Shard& shard : shards_) {
    if (others) shard.follow_classes(builds_.builds());
    if (others_for_rules) shard.follow_periodic(periodic_jobs());
  }
}

}  // namespace brood
