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
#include "supervisor/process/child_bodies.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/batch_watch.hpp"
#include "supervisor/queues/doorbell.hpp"
#include "supervisor/queues/key_change_listener.hpp"
#include "supervisor/queues/quarantine_watch.hpp"
#include "supervisor/queues/queue_rivals.hpp"
#include "supervisor/queues/queues_and_pauses_watch.hpp"
#include "supervisor/queues/set_aside_watch.hpp"
#include "supervisor/queues/worker_unblocker.hpp"
#include "supervisor/recovery/dead_files.hpp"
#include "supervisor/recovery/dead_supervisors.hpp"
#include "supervisor/recovery/orphan_watch.hpp"
#include "supervisor/recovery/recovery_children.hpp"
#include "supervisor/redis/embedded_redis.hpp"
#include "supervisor/redis/own_keys.hpp"
#include "supervisor/redis/redis_link.hpp"
#include "supervisor/report/heartbeat.hpp"
#include "supervisor/report/process_pruning.hpp"
#include "supervisor/schedule/gem_schedules.hpp"
#include "supervisor/schedule/periodic_jobs.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "supervisor/schedule/scheduler.hpp"
#include "supervisor/shards/known_shards.hpp"
#include "supervisor/shards/shard_moves.hpp"
#include "supervisor/shards/shard_workers.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

// All that a supervisor does with one Redis: it connects, watches the queues there and what is paused, moves due jobs,
// sends heartbeats, and recovers what dead workers and dead supervisors have left in it.
class Shard : private RedisLink::Events, private Heartbeat::Events {
 public:
  // The supervisor, as a shard sees it.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual const Config& config() const = 0;  // of the present generation
    virtual ProcessFacts process_facts() const = 0;
    virtual PeriodicJobSettings periodic_jobs() const = 0;                    // by the configuration and by libraries
    virtual bool is_quiet() const = 0;                                        // also true while stopping
    virtual bool goes_by_clock_of(int shard) const = 0;                       // one alone, while it answers
    virtual void redis_is_unusable(RedisTrouble trouble) = 0;                 // see RedisLink::Events
    virtual std::string why_not(int shard, const RedisData& data) const = 0;  // as well
    virtual void redis_has_moved(int shard) = 0;                              // as well
    virtual void signal_came_from_redis(const std::string&) = 0;              // see Heartbeat::Events
    virtual void name_is_taken() = 0;                                         // as well
    virtual void recovered(const WorkerDeath&) {}  // nothing of what that worker held is left in flight
  };
  struct Setup {
    int number = 0;  // among all shards
    KnownShards all = {};
    RedisAddress redis;
    std::unique_ptr<EmbeddedRedis> embedded_redis = {};  // none: this Redis is somebody else's
    RedisLink::Patience give_up_after{};
    BeatTokens beat_tokens = {};  // those of the program before us in the same process
  };
  // What all shards of a supervisor share.
  struct Parts {
    EventLoop& loop;
    Children& children;
    const ChildBodies& bodies;
    WorkerOrders& orders;
    WorkerPool& pool;
    Metrics& metrics;
    ShardMoves& moves;
    DeadFiles& dead_files;
    const Identity& identity;
    const std::string& runtime_directory;
  };
  Shard(const Parts& parts, Setup setup, Owner& owner);

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

  // Each turn, what is due.
  void do_what_is_due(SteadyTime now);
  // Each turn, after what else there is to do: forks the recovery's children.
  void recover(SteadyTime now);

  // A worker has said so.
  void look_for_batches() {
    if (is_served()) batch_watch_.look_for_a_while();
  }
  void look_who_waits() {
    if (is_served()) doorbell_.look();
  }

  // What workers fetch from: see Generations::capsules().
  void set_capsules(const std::vector<CapsuleSettings>& capsules);
  // The present generation is another.
  void follow_config();
  // There are other shards beside this one than before, or others are drained.
  void set_shards(KnownShards all);
  bool is_drained() const { return is_served() && all_.is_drained(number_); }
  const std::string& name() const { return name_; }

  // It is taken out, and nothing lies there: the supervisor leaves it once no worker is there and nothing is recovered.
  // Its place stays empty.
  void leave();
  bool is_served() const { return standing_ == Standing::served; }
  bool is_leaving() const { return standing_ == Standing::leaving; }
  // What is periodic is other than before.
  void follow_periodic() {
    if (is_served()) periodic_jobs_.set(periodic_settings());
  }

  // Stops what a quiet stops, and begins it again.
  void wind_down();
  void resume();

 private:
  void redis_is_usable() override;
  void redis_is_unusable(RedisTrouble trouble) override { owner_.redis_is_unusable(trouble); }
  std::string why_not(const RedisData& data) const override { return owner_.why_not(number_, data); }
  OwnKeys own_keys() const override { return brood::own_keys(owner_.config().capsules, identity_); }
  void redis_has_moved() override;
  bool is_quiet() const override { return owner_.is_quiet(); }
  void signal_came_from_redis(const std::string& signal) override { owner_.signal_came_from_redis(signal); }
  void beaten() override {
    pool_.note_died(scheduler_.moved_to_dead() - std::exchange(died_, scheduler_.moved_to_dead()));
    orphan_watch_.look();
  }
  void was_unlisted() override;
  void name_is_taken() override { owner_.name_is_taken(); }

  enum class Standing {
    served,
    leaving,  // nobody looks for work there any more
    left,     // and nothing is sent there
  };
  void leave_if_done();
  void keep_pace();
  void tell_of_capsules();
  void look_for_work();
  void note_changes(const std::vector<std::string>& keys);
  void rely_on_being_told(bool told);
  Scheduler::Settings scheduler_settings() const;
  PeriodicJobs::Settings periodic_settings() const;
  GemSchedules::Settings gem_schedule_settings() const;
  std::optional<TimeUnit> times() const;  // of what it pushes itself; nullopt: as the fleet writes them
  KeyChangeListener::Keys keys_to_watch();
  std::set<std::string> living_fields() const;

  Owner& owner_;
  const std::string identity_;
  const int number_;
  const std::string name_;
  KnownShards all_;
  DeadFiles& dead_files_;
  Standing standing_ = Standing::served;
  bool has_said_goodbye_ = false;  // the heartbeat has left
  std::vector<CapsuleSettings> capsules_;
  int pace_ = 1;  // how many times as long as with one shard the time between two looks is
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
  BatchWatch batch_watch_;
  QueueRivals queue_rivals_;
  SetAsideWatch set_aside_watch_;
  QuarantineWatch quarantine_watch_;
  Scheduler scheduler_;
  PeriodicJobs periodic_jobs_;
  GemSchedules gem_schedules_;
  Heartbeat heartbeat_;
  KeyChangeListener key_change_listener_;
  SteadyTime next_sweep_{};
  std::uint64_t died_ = 0;  // jobs that the scheduler has moved to the dead set, as the scoreboard counts them
};

}  // namespace brood
