#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "supervisor/process/child_program.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/batch_watch.hpp"
#include "supervisor/queues/class_pause_ends.hpp"
#include "supervisor/queues/doorbell.hpp"
#include "supervisor/queues/key_change_listener.hpp"
#include "supervisor/queues/quarantine_watch.hpp"
#include "supervisor/queues/queue_rivals.hpp"
#include "supervisor/queues/queues_and_pauses_watch.hpp"
#include "supervisor/queues/sequence_watch.hpp"
#include "supervisor/queues/set_aside_watch.hpp"
#include "supervisor/queues/tenant_watch.hpp"
#include "supervisor/queues/worker_unblocker.hpp"
#include "supervisor/recovery/dead_files.hpp"
#include "supervisor/recovery/dead_supervisors.hpp"
#include "supervisor/recovery/orphan_watch.hpp"
#include "supervisor/recovery/recovery_children.hpp"
#include "supervisor/redis/embedded_redis.hpp"
#include "supervisor/redis/own_keys.hpp"
#include "supervisor/redis/redis_link.hpp"
#include "supervisor/report/class_publication.hpp"
#include "supervisor/report/heartbeat.hpp"
#include "supervisor/report/known_builds.hpp"
#include "supervisor/report/process_pruning.hpp"
#include "supervisor/schedule/gem_schedules.hpp"
#include "supervisor/schedule/periodic_jobs.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "supervisor/schedule/scheduler.hpp"
#include "supervisor/schedule/stored_periodic_rules.hpp"
#include "supervisor/shards/known_shards.hpp"
#include "supervisor/shards/shard_moves.hpp"
#include "supervisor/shards/shard_set.hpp"
#include "supervisor/shards/shard_workers.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

// All work of a supervisor with one Redis: connects, watches its queues and which are paused, moves due jobs, sends
// heartbeats, and recovers what dead workers and dead supervisors have left in it.
class Shard {
 public:
  // The present generation's configuration, and what follows from it.
  struct Settings {
    std::shared_ptr<const Config> config;
    ProcessFacts facts;
    PeriodicJobSettings periodic_jobs;         // of the configuration and of libraries
    std::vector<BuildOfClasses> classes = {};  // of the workers
  };
  struct Setup {
    int number = 0;  // among all shards
    KnownShards all = {};
    RedisAddress redis;
    std::unique_ptr<EmbeddedRedis> embedded_redis = {};  // null if this Redis is not embedded
    RedisLink::Patience give_up_after{};
    BeatTokens beat_tokens = {};  // of the previous program in this process
  };
  // The parts that all shards of a supervisor share.
  struct Parts {
    EventLoop& loop;
    Children& children;
    const std::shared_ptr<ChildProgram>& program;  // of the present generation
    WorkerOrders& orders;
    WorkerPool& pool;
    Metrics& metrics;
    ShardMoves& moves;
    DeadFiles& dead_files;
    const ShardSet<Shard>& shards;
    const Identity& identity;
    const std::string& runtime_directory;
  };
  Shard(const Parts& parts, Setup setup, Settings settings);

  // Events since the previous call of take_news() that concern more than this shard.
  struct News {
    std::optional<RedisTrouble> trouble = {};  // see RedisLink::News
    bool has_moved = false;                    // see RedisLink::News
    std::vector<std::string> signals = {};     // see Heartbeat::News
    std::vector<WorkerDeath> recovered = {};   // workers of which nothing is in flight any more
    bool rules_changed = false;                // of periodic jobs in this Redis
  };
  News take_news() { return std::exchange(news_, {}); }
  bool name_is_taken() const { return heartbeat_.name_is_taken(); }

  // Begins to connect.
  void open() {
    if (is_served()) redis_.open();
  }

  int number() const { return number_; }
  RedisLink& redis() { return redis_; }
  const RedisLink& redis() const { return redis_; }
  WorkerUnblocker& unblocker() { return unblocker_; }
  RecoveryChildren& recovery() { return recovery_; }
  const RecoveryChildren& recovery() const { return recovery_; }
  Heartbeat& heartbeat() { return heartbeat_; }
  const Heartbeat& heartbeat() const { return heartbeat_; }
  OrphanWatch& orphan_watch() { return orphan_watch_; }

  // Each turn: does what is due.
  void do_what_is_due(SteadyTime now);
  // Each turn, after everything else: forks the recovery's children.
  void recover(SteadyTime now);

  // Call it when a worker has reported a batch.
  void look_for_batches() {
    if (is_served()) batch_watch_.look_for_a_while();
  }
  void look_who_waits() {
    if (is_served()) doorbell_.look();
  }

  // The capsules that workers fetch for: see Generations::capsules().
  void set_capsules(const std::vector<CapsuleSettings>& capsules);
  // Call it when the present generation has changed.
  void follow_config(Settings settings);
  // Call it when the other shards, or the drained ones, have changed.
  void set_shards(KnownShards all);
  bool is_drained() const { return is_served() && all_.is_drained(number_); }
  const std::string& name() const { return name_; }

  // Call it when the shard was removed and holds no jobs.  The supervisor leaves it once no worker serves it and
  // nothing is being recovered.  Its place stays empty.
  void leave();
  bool is_served() const { return standing_ == Standing::served; }
  bool is_leaving() const { return standing_ == Standing::leaving; }
  // Call it when the periodic jobs have changed.
  void follow_periodic(PeriodicJobSettings jobs);
  // The jobs whose rules lie in this Redis, wherever they are served.
  const PeriodicJobSettings& stored_periodic() const { return periodic_rules_.jobs(); }
  // Call it when the job classes of its workers have changed.
  void follow_classes(std::vector<BuildOfClasses> builds);

  // Stops what a quiet or a stop ends, or begins it again.
  void wind_down();
  void resume();

 private:
  void hear_redis();
  void hear_heartbeat();
  void hear_recovery();
  void begin_to_look();
  std::string why_not(const RedisData& data) const;
  bool tells_the_time() const;

  enum class Standing {
    served,
    leaving,  // looks for no new work there
    left,     // sends nothing there any more
  };
  void leave_if_done();
  void stop_looking();
  void keep_pace();
  void tell_of_capsules();
  void look_for_work();
  void note_changes(const std::vector<std::string>& keys);
  void give_away_periodic_rules();
  void rely_on_reports(bool told);
  Scheduler::Settings scheduler_settings() const;
  PeriodicJobs::Settings periodic_settings() const;
  GemSchedules::Settings gem_schedule_settings() const;
  std::optional<TimeUnit> times() const;  // for its own pushes; nullopt: as the fleet writes them
  KeyChangeListener::Keys keys_to_watch();
  std::set<std::string> living_fields() const;

  const ShardSet<Shard>& shards_;
  Settings settings_;
  const std::string identity_;
  const int number_;
  const std::string name_;
  KnownShards all_;
  DeadFiles& dead_files_;
  Standing standing_ = Standing::served;
  bool quiet_ = false;  // or stopping
  News news_;
  std::vector<CapsuleSettings> capsules_;
  int pace_ = 1;  // the pause between two looks, as a multiple of that for one shard
  WorkerPool& pool_;
  RedisLink redis_;
  WorkerUnblocker unblocker_;
  ShardWorkers workers_;
  RecoveryChildren recovery_;
  ProcessPruning pruning_;
  DeadSupervisors dead_supervisors_;
  OrphanWatch orphan_watch_;
  Doorbell doorbell_;
  QueuesAndPausesWatch queues_and_pauses_watch_;
  ClassPauseEnds class_pause_ends_;
  BatchWatch batch_watch_;
  QueueRivals queue_rivals_;
  SetAsideWatch set_aside_watch_;
  SequenceWatch sequence_watch_;
  TenantWatch tenant_watch_;
  QuarantineWatch quarantine_watch_;
  Scheduler scheduler_;
  StoredPeriodicRules periodic_rules_;
  PeriodicJobs periodic_jobs_;
  GemSchedules gem_schedules_;
  ClassPublication class_publication_;
  Heartbeat heartbeat_;
  KeyChangeListener key_change_listener_;
  SteadyTime next_sweep_{};
  std::uint64_t died_ = 0;  // jobs that the scheduler has moved to the dead set, as counted in the scoreboard
};

}  // namespace brood
