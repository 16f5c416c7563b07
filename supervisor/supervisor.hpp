#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "supervisor/fleet.hpp"
#include "supervisor/operator_signals.hpp"
#include "supervisor/operators.hpp"
#include "supervisor/otlp/exporter_child.hpp"
#include "supervisor/own_processes.hpp"
#include "supervisor/phases.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/ended_children.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/redis/embedded_redis.hpp"
#include "supervisor/report/known_builds.hpp"
#include "supervisor/reporter_child.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "supervisor/schedule/rule_classes.hpp"
#include "supervisor/shards/shard.hpp"
#include "supervisor/upgrade/handover_record.hpp"
#include "supervisor/upgrade/upgrade.hpp"
#include "supervisor/web_child.hpp"

namespace brood {

// The parent: keeps every slot filled, watches, schedules, recovers, and stops in order.  It never runs a job and waits
// only in its loop.
//
// Its parts call no function of the supervisor.  They keep their news until the loop takes them: see take_news() of
// Shard, Upgrade and WorkerOrders, RollingRestart::next_news() and Phases::take_entered().
class Supervisor {
 public:
  struct Setup {
    std::shared_ptr<const Config> config;
    Identity identity;
    std::vector<RedisAddress> shards;               // at least one
    std::unique_ptr<EmbeddedRedis> embedded_redis;  // the only shard's; null if Redis is elsewhere
    std::string runtime_directory;
    std::string instance = {};     // the operator's name for this supervisor, if several run
    std::string config_file = {};  // absolute path; empty if there is none
    ProgramOf program_of;
    const Successor& successor;
    std::optional<Handover> handover = {};  // from the previous program in this process
    std::string failed = {};                // why the next program failed and gave the process back; else empty
    std::function<void()> stands;  // called once the takeover is complete: the previous program is not needed any more
    // Reads the configuration file as it is now; empty if there is none.  Throws ConfigError.
    std::function<ConfigFile()> read_file;
    ConfigSource config_source;
    // Where the shards of a configuration are, for the supervisor's own connections.
    std::function<std::vector<RedisAddress>(const Config&)> locate = {};
    // Called when the supervisor switches to another configuration: for the log and the process title.
    std::function<void(const Config&)> follow;
    WebChild::Program web = {};  // without a body there is no page
  };
  explicit Supervisor(Setup setup);

  // Runs until it is stopped and the shutdown is complete.  Returns the exit status: 0; 78 if Redis is unfit or every
  // worker refused to start; 75 if another process goes by this one's name: see give_way().
  int run();

 private:
  // ---- Turns of the loop: supervisor.cpp
  void begin();
  void keep_time();
  void hear_workers();
  void reap_children();
  void note_end(EndedWorker worker);
  void look_for_strays();
  void do_what_is_due(SteadyTime now);
  void look_after_workers(SteadyTime now);
  void hear_shards();
  void hear_restart();
  void follow(const Generation& present);
  void enter_phases();
  void enter(Phase phase);
  void shut_down(SteadyTime now);
  void let_reports_finish();

  // ---- Shards: supervisor.cpp
  void add_shards(Setup& setup);
  void add_shard(Shard::Setup setup);
  void follow_shards();
  void judge(RedisTrouble trouble);
  bool name_is_taken() const;
  void note_moved(int shard);
  Shard::Settings shard_settings() const;
  PeriodicJobSettings periodic_jobs() const;
  void look_at_registered_periodic();
  void follow_periodic_rules();
  void look_at_classes();

  // ---- Status for people: supervisor_status.cpp
  ProcessFacts facts_of_present() const;
  void report_status();
  void show_state();
  std::string state_of_redis() const;
  std::string describe_shards(std::string (RedisLink::*how)() const) const;

  // ---- From one program to the next: supervisor_handover.cpp
  Handover hand_over();
  void take_over(const Handover& handover);
  void advance_upgrade(SteadyTime now);
  std::string half_done(SteadyTime now);
  std::string long_work_under_way() const;

  // Gives up its name to another process that sends heartbeats under it.  This happens when the machine was cloned
  // while brood ran: the other process is a copy of this one with the same jobs.  Ends the workers and changes nothing
  // in Redis. Returns the exit status.
  int give_way();
  void end_children();

  std::shared_ptr<const Config> config_;
  std::shared_ptr<ChildProgram> program_;  // of the present generation, as config_
  const Identity identity_;
  const std::string runtime_directory_, config_file_;
  const std::function<void(const Config&)> follow_;
  const std::function<std::vector<RedisAddress>(const Config&)> locate_;
  const WallTime started_at_;
  ProcessFacts facts_;

  EventLoop loop_;
  Children children_;
  EndedChildren ended_children_;
  OperatorSignals signals_;
  Fleet fleet_;
  OwnProcesses own_processes_;
  DeadFiles dead_files_;
  RegisteredPeriodicJobs registered_periodic_;
  KnownBuilds builds_;
  RuleClasses rule_classes_;
  Metrics metrics_;  // of all shards
  Shards shards_;
  Phases phases_;
  Upgrade upgrade_;
  Operators operators_;
  WebChild web_;
  ExporterChild spans_;
  ReporterChild reports_;

  bool took_over_ = false;                            // from the previous program in this process
  bool came_back_ = false;                            // from a program that took over from us and failed
  std::optional<SteadyTime> recoveries_pause_until_;  // while an upgrade waits
  std::function<void()> stands_;
  SteadyTime stray_deadline_{}, next_status_{};
  Timer wake_;  // for the supervisor's own deadlines
};

}  // namespace brood
