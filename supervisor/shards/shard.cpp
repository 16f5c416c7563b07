#include "supervisor/shards/shard.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/random.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "shared/store/watched_keys.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// At this pace sixteen idle shards cost only some twenty commands a second.
constexpr int few_shards = 4, slowest_pace = 3;
constexpr auto beat_interval = 10s,
               longest_beat_interval = 20s;  // a supervisor that misses two of these does not count as dead yet

constexpr auto sweep_interval = 1h;
constexpr auto between_first_sweeps = 3s;  // from one shard's first sweep to the next shard's
constexpr auto time_to_be_listed = 15s;    // until each living supervisor has listed itself by a heartbeat

int pace_among(const KnownShards& shards) {
  return std::clamp(static_cast<int>(shards.count()) / few_shards, 1, slowest_pace);
}

}  // namespace

Shard::Shard(const Parts& parts, Setup setup, Settings settings)
    : shards_(parts.shards),
      settings_(std::move(settings)),
      identity_(parts.identity.name),
      number_(setup.number),
      name_(setup.all.name(setup.number)),
      all_(std::move(setup.all)),
      dead_files_(parts.dead_files),
      pace_(pace_among(all_)),
      pool_(parts.pool),
      redis_(parts.loop, parts.children, std::move(setup.redis), std::move(setup.embedded_redis), setup.give_up_after,
             [this](const RedisData& data) { return why_not(data); }),
      unblocker_(parts.loop, redis_.connection(), [this](const SlotRecord& record) { workers_.end_wait(record); }),
      workers_(setup.number, parts.moves, parts.orders, parts.pool, parts.metrics, unblocker_),
      recovery_(parts.loop, parts.children, parts.program),
      pruning_(parts.loop, redis_.connection()),
      dead_supervisors_(recovery_, pruning_, parts.dead_files, setup.number, identity_, parts.runtime_directory),
      orphan_watch_(
          parts.loop, redis_.connection(), parts.identity, [this] { return living_fields(); }, dead_supervisors_),
      doorbell_(parts.loop, redis_.connection(), workers_),
      queues_and_pauses_watch_(parts.loop, redis_.connection(), workers_,
                               [this](const KnownQueues& now) {
                                 doorbell_.know(now);
                                 tenant_watch_.know(now);
                                 quarantine_watch_.note_pauses(now.paused_classes, steady_now());
                               }),
      class_pause_ends_(parts.loop, redis_.connection()),
      batch_watch_(parts.loop, redis_.connection(), identity_, workers_),
      queue_rivals_(parts.loop, redis_.connection()),
      set_aside_watch_(parts.loop, redis_.connection()),
      sequence_watch_(parts.loop, redis_.connection(), identity_),
      tenant_watch_(parts.loop, redis_.connection(), identity_),
      quarantine_watch_(redis_.connection(), workers_),
      scheduler_(parts.loop, redis_.connection(), scheduler_settings()),
      periodic_rules_(parts.loop, redis_.connection(),
                      [this](bool have_changed) {
                        news_.rules_changed |= have_changed;
                        give_away_periodic_rules();
                      }),
      periodic_jobs_(parts.loop, redis_.connection(), periodic_settings()),
      gem_schedules_(parts.loop, redis_.connection(), gem_schedule_settings()),
      class_publication_(parts.loop, redis_.connection()),
      heartbeat_(parts.loop, redis_.connection(), parts.identity, settings_.facts, workers_,
                 std::move(setup.beat_tokens)),
      key_change_listener_(parts.loop, redis_.connection(), keys_to_watch(),
                           [this](bool hears) { rely_on_reports(hears); }) {
  key_change_listener_.hear_of_others([this](const std::vector<std::string>& keys) { note_changes(keys); });
  queues_and_pauses_watch_.on_classes([this](const NameSet& paused) { class_pause_ends_.look(paused); });
  if (number_ > 0) next_sweep_ = steady_now() + number_ * between_first_sweeps;
  redis_.require_rights_to(own_keys(settings_.config->capsules, identity_));
  heartbeat_.tell_metrics(settings_.config->metrics);
  keep_pace();
  class_publication_.follow(settings_.classes);
  if (!all_.is_empty_place(number_)) return;
  standing_ = Standing::left;
  dead_files_.note_look(number_, {});
}

void Shard::keep_pace() {
  heartbeat_.beat_every(std::min<std::chrono::seconds>(pace_ * beat_interval, longest_beat_interval));
  queues_and_pauses_watch_.slow_down(pace_);
  quarantine_watch_.slow_down(pace_);
  redis_.slow_down(pace_);
}

// The keys to watch, each with the part that looks when it has changed.
KeyChangeListener::Keys Shard::keys_to_watch() {
  const WatchedKeys keys = watched_keys(identity_);
  return {{keys.schedule.name(), [this] { scheduler_.glance(); }},
          {keys.paused.name(), [this] { queues_and_pauses_watch_.look(); }},
          {keys.paused_classes.name(), [this] { queues_and_pauses_watch_.look(); }},
          {keys.queues.name(), [this] { queues_and_pauses_watch_.look(); }},
          {keys.periodic_rules.name(), [this] { periodic_rules_.look(); }},
          {keys.queue_names.name(), [this] { queues_and_pauses_watch_.look(); }},
          {keys.owners.name(), [this] { orphan_watch_.note_change(); }},
          {keys.signals.name(), [this] { heartbeat_.look_for_signals(); }}};
}

void Shard::note_changes(const std::vector<std::string>& keys) {
  std::vector<std::string> queues;
  for (const std::string& key : keys) {
    if (const auto queue = queue_of(key)) queues.push_back(*queue);
  }
  if (keys.empty() || !queues.empty()) doorbell_.note_changes(queues);
}

void Shard::rely_on_reports(bool told) {
  scheduler_.rely_on_reports(told);
  queues_and_pauses_watch_.rely_on_reports(told);
  heartbeat_.rely_on_reports(told);
  orphan_watch_.rely_on_reports(told);
  periodic_rules_.rely_on_reports(told);
  doorbell_.rely_on_reports(told ? &key_change_listener_.reader() : nullptr);
}

// ---- Turns of the loop

void Shard::do_what_is_due(SteadyTime now) {
  if (standing_ != Standing::left) redis_.catch_up(now);
  hear_redis();
  hear_heartbeat();
  hear_recovery();
  leave_if_done();
  if (!is_served() || !redis_.connected()) return;
  if (!quiet_) quarantine_watch_.look(now, settings_.config->crashes.quarantine_after > 0);
  if (now < next_sweep_) return;
  recovery_.sweep([this] { return OwnIncarnations{identity_, living_fields(), pool_.last_incarnation()}; });
  next_sweep_ = now + jittered(sweep_interval);  // many hosts may have started at the same time
}

void Shard::recover(SteadyTime now) {
  if (redis_.connected()) recovery_.spawn_due(now, redis_.address_for_children());
}

// ---- Reports of its parts

void Shard::hear_redis() {
  const RedisLink::News news = redis_.take_news();
  if (news.trouble) news_.trouble = news.trouble;
  if (news.has_moved) {
    doorbell_.redis_has_moved();
    news_.has_moved = true;
  }
  if (news.is_usable && redis_.connected()) begin_to_look();
}

// Looks for orphans only after a heartbeat has shown that no other process uses our name: the workers of such a process
// would look like orphans.
void Shard::begin_to_look() {
  heartbeat_.beat();
  if (!is_served()) return;
  if (!quiet_) look_for_work();
  batch_watch_.look_for_a_while();
  pruning_.start();
  queue_rivals_.look(settings_.config->capsules);
  set_aside_watch_.look(capsules_);
}

void Shard::hear_heartbeat() {
  Heartbeat::News news = heartbeat_.take_news();
  if (news.was_unlisted) next_sweep_ = std::min(next_sweep_, steady_now() + time_to_be_listed);
  if (news.has_beaten) {
    pool_.note_died(scheduler_.moved_to_dead() - std::exchange(died_, scheduler_.moved_to_dead()));
    orphan_watch_.look();
  }
  std::move(news.signals.begin(), news.signals.end(), std::back_inserter(news_.signals));
}

void Shard::hear_recovery() {
  for (WorkerDeath& death : recovery_.take_recovered()) {
    pool_.recovered(death.worker);
    news_.recovered.push_back(std::move(death));
  }
}

// ---- Orders of the supervisor

void Shard::set_capsules(const std::vector<CapsuleSettings>& capsules) {
  if (!is_served()) return;
  queues_and_pauses_watch_.follow_names(std::any_of(
      capsules.begin(), capsules.end(), [](const CapsuleSettings& capsule) { return capsule.queues.has_patterns(); }));
  capsules_ = capsules;
  tenant_watch_.set_capsules(capsules);
  tell_of_capsules();
  if (redis_.connected()) set_aside_watch_.look(capsules_);
}

// Gives the doorbell the capsules with this shard's share of each cap.
void Shard::tell_of_capsules() {
  if (capsules_.empty()) return;
  std::vector<CapsuleSettings> capsules = capsules_;
  for (CapsuleSettings& capsule : capsules)
    capsule.caps = share_of(std::move(capsule.caps), all_.rank(number_), all_.count());
  doorbell_.set_capsules(std::move(capsules));
}

void Shard::follow_config(Settings settings) {
  settings_ = std::move(settings);
  if (!is_served()) return;
  redis_.require_rights_to(own_keys(settings_.config->capsules, identity_));
  scheduler_.set(scheduler_settings());
  periodic_jobs_.set(periodic_settings());
  gem_schedules_.set(gem_schedule_settings());
  heartbeat_.set_facts(settings_.facts);
  queue_rivals_.look(settings_.config->capsules);
  heartbeat_.tell_metrics(settings_.config->metrics);
  heartbeat_.beat();
}

void Shard::follow_periodic(PeriodicJobSettings jobs) {
  settings_.periodic_jobs = std::move(jobs);
  if (is_served()) periodic_jobs_.set(periodic_settings());
}

void Shard::give_away_periodic_rules() {
  if (!is_drained()) return;
  periodic_rules_.move_to([this](const std::string& name) {
    const int home = all_.home_of(name);
    return shards_.has(home) && shards_[home].is_served() ? &shards_[home].periodic_rules_ : nullptr;
  });
}

void Shard::follow_classes(std::vector<BuildOfClasses> builds) {
  settings_.classes = std::move(builds);
  if (is_served()) class_publication_.follow(settings_.classes);
}

// Does not update the scheduler and the periodic jobs: follow_config() does.
void Shard::set_shards(KnownShards all) {
  all_ = std::move(all);
  if (!is_served()) return;
  pace_ = pace_among(all_);
  keep_pace();
  tell_of_capsules();
  if (is_drained() && !quiet_) periodic_rules_.look();
}

void Shard::wind_down() {
  quiet_ = true;
  heartbeat_.set_quiet(true);
  stop_looking();
}

void Shard::stop_looking() {
  scheduler_.stop();
  periodic_rules_.stop();
  periodic_jobs_.stop();
  gem_schedules_.stop();
  class_publication_.stop();
  doorbell_.stop();
  queues_and_pauses_watch_.stop();
  class_pause_ends_.stop();
  tenant_watch_.stop();
  queue_rivals_.stop();
  sequence_watch_.stop();
  key_change_listener_.stop();
}

void Shard::leave() {
  if (!is_served()) return;
  stop_looking();
  orphan_watch_.stop();
  standing_ = Standing::leaving;
  log::info("shard_leaves", {{"shard", name_}, {"redis", redis_.describe()}});
}

// Waits for workers of the previous generation that may still be leaving it.
void Shard::leave_if_done() {
  if (standing_ != Standing::leaving) return;
  if (heartbeat_.has_finished()) {
    standing_ = Standing::left;
    redis_.close();
    dead_files_.note_look(number_, {});
    log::info("shard_removed", {{"shard", name_}});
    return;
  }
  if (!workers_.occupied_slots().empty()) return;
  if (!recovery_.is_idle() && (redis_.connected() || !recovery_.may_be_left())) return;
  pruning_.stop();
  heartbeat_.finish();
}

void Shard::resume() {
  quiet_ = false;
  heartbeat_.set_quiet(false);
  if (!is_served()) return;
  scheduler_.resume(scheduler_settings());
  periodic_jobs_.resume(periodic_settings());
  gem_schedules_.resume(gem_schedule_settings());
  if (!redis_.connected()) return;
  look_for_work();
  queue_rivals_.look(settings_.config->capsules);
}

void Shard::look_for_work() {
  scheduler_.look();
  periodic_rules_.look();
  periodic_jobs_.look();
  gem_schedules_.look();
  class_publication_.publish();
  doorbell_.listen();
  queues_and_pauses_watch_.look();
  sequence_watch_.start();
  tenant_watch_.look();
  key_change_listener_.listen();
}

// ---- Questions of its parts

// Two shards must not have the same data.
std::string Shard::why_not(const RedisData& data) const {
  std::vector<RedisData> others;
  shards_.each([&](const Shard& other) {
    if (other.number_ != number_) others.push_back(other.redis_.data());
  });
  return why_not_beside(data, others);
}

// The process uses the clock of the first connected Redis.
bool Shard::tells_the_time() const {
  return shards_.first_where([](const Shard& shard) { return shard.redis_.connected(); }, number_) == number_;
}

std::set<std::string> Shard::living_fields() const {
  std::set<std::string> fields = recovery_.fields_of(identity_);
  fields.merge(pool_.living_fields());
  return fields;
}

Scheduler::Settings Shard::scheduler_settings() const {
  const Config& config = *settings_.config;
  return {.identity = identity_,
          .poll = {.average_scheduled = pace_ * config.poll_interval},
          .dead_limits = {config.dead_max_jobs, config.dead_timeout.count()},
          .leaves_to_ruby = config.leaves_due_jobs_to_ruby,
          .between_glances_when_told = pace_ * Scheduler::Settings{}.between_glances_when_told,
          .tells_time = [this] { return tells_the_time(); },
          .times = times()};
}

GemSchedules::Settings Shard::gem_schedule_settings() const {
  return {.serves = settings_.config->serves_sidekiq_cron, .times = times()};
}

// The time unit of the clients in its workers.
std::optional<TimeUnit> Shard::times() const {
  const auto configured = settings_.config->compatibility.time_unit();
  return configured ? configured : told_times();
}

// Each periodic job belongs to one shard, by its name.
PeriodicJobs::Settings Shard::periodic_settings() const {
  PeriodicJobs::Settings settings{.identity = identity_, .jobs = settings_.periodic_jobs, .times = times()};
  std::erase_if(settings.jobs, [this](const auto& job) { return all_.home_of(job.first) != number_; });
  for (auto& [name, job] : settings.jobs) {
    const auto here = periodic_rules_.jobs().find(name);
    const bool is_here = here != periodic_rules_.jobs().end();
    if (job.source != PeriodicSettings::Source::redis) continue;
    if (is_here)
      job = here->second;
    else
      job.stored.clear();  // an empty rule keeps this Redis from looking for it
  }
  return settings;
}

}  // namespace brood
