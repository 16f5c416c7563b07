#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "supervisor/control/control_socket.hpp"
#include "supervisor/control_verbs.hpp"
#include "supervisor/operator_signals.hpp"
#include "supervisor/otlp/exporter_child.hpp"
#include "supervisor/own_processes.hpp"
#include "supervisor/phase.hpp"
#include "supervisor/pressure/pressure_relief.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/ended_children.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/process/service_notify.hpp"
#include "supervisor/readiness.hpp"
#include "supervisor/redis/embedded_redis.hpp"
#include "supervisor/restart/rolling_restart.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "supervisor/shards/shard.hpp"
#include "supervisor/shutdown.hpp"
#include "supervisor/upgrade/handover_record.hpp"
#include "supervisor/upgrade/upgrade.hpp"
#include "supervisor/web_child.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/stack_log.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_pool.hpp"
#include "supervisor/workers/worker_slots.hpp"
#include "supervisor/workers/worker_succession.hpp"

namespace brood {

// The parent: keeps every slot filled, watches, schedules, recovers, and stops in order.  Never runs a job and never
// waits for anything but its loop.
class Supervisor : private Shard::Owner,
                   private RollingRestart::Events,
                   private Upgrade::Owner,
                   private ControlVerbs::Ordered {
 public:
  struct Setup {
    std::shared_ptr<const Config> config;
    Identity identity;
    std::vector<RedisAddress> shards;               // at least one
    std::unique_ptr<EmbeddedRedis> embedded_redis;  // the only shard's; none: Redis is elsewhere
    std::string runtime_directory;
    std::string instance = {};     // the operator's name for this supervisor, where several run
    std::string config_file = {};  // its whole path; empty: there is none
    BodiesFor bodies;
    const Successor& successor;
    std::optional<Handover> handover = {};  // what the program before this one has left
    std::string failed = {};  // why a program that took over from this one has given the process back; empty: none has
    std::function<void()> stands;  // called once everything is taken over and the program before is not needed any more
    // Reads the configuration's file as it is now; nothing: there is none.  Throws ConfigError.
    std::function<ConfigFile()> read_file;
    ConfigSource config_source;
    // Where the shards of a configuration are, for the supervisor's own connections.
    std::function<std::vector<RedisAddress>(const Config&)> locate = {};
    // Called when the supervisor begins to go by another configuration: for the log and the title of the process.
    std::function<void(const Config&)> follow;
    WebChild::Program web = {};  // no body: there is no page
  };
  explicit Supervisor(Setup setup);
  ~Supervisor() override;

  // Runs until it has been told to stop and everything is in order.  Returns the exit status: 0, or 78 when Redis is
  // unfit or every worker refused to start, or 75 when another process goes by this one's name: see give_way().
  int run();

 private:
  // What happens in a round.
  void keep_time();
  void handle_signals();
  void hear_workers();
  void reap_children();
  void note_end(const EndedChildren::One& one);
  void note_end(WorkerPool::Reaped reaped);
  void kill_overdue_children();
  void do_what_is_due();
  void look_at_registered_periodic();
  void begin_shutdown();

  // What happens at an order.
  void order(Order order) override;
  void wind_down();
  void replace_workers_of_before();
  void resume();
  void restart_workers();
  void upgrade();
  void fail(int exit_code);

  // What its parts tell it.
  void redis_is_unusable(RedisTrouble trouble) override;
  void redis_has_moved(int shard) override;
  void signal_came_from_redis(const std::string& signal) override;
  void name_is_taken() override { name_is_taken_ = true; }
  void recovered(const WorkerDeath& worker_death) override;
  void restart_begun() override;
  void restart_ended() override;
  void capsules_changed() override;
  void generation_changed(const Generation& present) override;
  void upgrade_begun() override { report_status(); }
  void upgrade_given_up() override;

  // What its parts ask it.
  const Config& config() const override { return *config_; }
  PeriodicJobSettings periodic_jobs() const override;
  Phase phase() const override { return phase_; }
  bool is_quiet() const override { return phase_ != Phase::running; }
  bool goes_by_clock_of(int shard) const override;
  std::string why_not(int shard, const RedisData& data) const override;
  ProcessFacts process_facts() const override;
  std::vector<std::string> drained_shards() const override;
  void report_status();
  std::string state_of_redis() const;
  std::string describe_shards(std::string (RedisLink::*how)() const) const;

  void add_shards(Setup& setup);
  void add_shard(Shard::Setup setup);
  void follow_shards();
  Shard& shard_of(int slot) { return *shards_.at(static_cast<std::size_t>(pool_.shard_of(slot))); }

  // How it passes from one program to the next.
  Handover hand_over() override;
  std::string half_done() override;
  std::string long_work_under_way() const;
  void pause_recoveries();
  void resume_recoveries();
  void take_over(const Handover& handover);
  void listen_at(const std::string& path, UniqueFd listener);

  // Leaves the name to another process that sends heartbeats under it too: this machine was cloned while brood ran, and
  // the other process is a copy of this one, with the same jobs.  Ends the workers and touches nothing in Redis.
  // Returns the exit status.
  int give_way();
  void end_children();

  std::shared_ptr<const Config> config_;
  Identity identity_;
  const std::string runtime_directory_, config_file_;
  ChildBodies bodies_;
  const std::function<void(const Config&)> follow_;
  const std::function<std::vector<RedisAddress>(const Config&)> locate_;
  const WallTime started_at_;

  EventLoop loop_;
  Children children_;
  EndedChildren ended_children_;
  OperatorSignals signals_;
  ServiceNotify service_;
  WorkerSlots slots_;
  Generations generations_;
  ShardMoves moves_;
  WorkerOrders orders_;
  WorkerSuccession succession_;
  PressureRelief pressure_;
  WorkerPool pool_;
  OwnProcesses own_processes_;
  StackLog stack_log_;
  DeadFiles dead_files_;
  RegisteredPeriodicJobs registered_periodic_;
  Metrics metrics_;  // of all shards
  Shards shards_;
  Readiness readiness_;
  RollingRestart restart_;
  Upgrade upgrade_;
  ControlVerbs verbs_;
  Shutdown shutdown_;
  WebChild web_;
  ExporterChild spans_;
  std::unique_ptr<ControlSocket> control_socket_;  // none where it could not be made

  Phase phase_ = Phase::running;
  int exit_code_ = 0;
  bool name_is_taken_ = false;
  bool took_over_ = false;  // from another program in this process
  bool came_back_ = false;  // from a program that had taken over from us, and failed
  bool roll_is_owed_ =
      false;  // of the workers of the program before, since a quiet has kept it from coming, or going on
  bool rolls_for_takeover_ = false;                   // it is under way
  std::optional<SteadyTime> recoveries_pause_until_;  // while an upgrade waits
  std::function<void()> stands_;
  SteadyTime stop_deadline_{}, stray_deadline_{}, next_status_{}, next_watchdog_{};
  Timer wake_;  // for what it does itself
};

}  // namespace brood
