#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/config/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/scoreboard/worker_setup.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "worker/guard/job_meter.hpp"
#include "worker/guard/memory_limit.hpp"
#include "worker/guard/standard_output.hpp"
#include "worker/guard/syscall_watch.hpp"
#include "worker/isolation/job_channel.hpp"
#include "worker/isolation/job_forker.hpp"
#include "worker/isolation/job_messages.hpp"
#include "worker/job/item_clock.hpp"
#include "worker/job/iteration_keeper.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/limit_keeper.hpp"
#include "worker/job/perform.hpp"
#include "worker/orders/supervisor_orders.hpp"
#include "worker/performing/class_rules.hpp"
#include "worker/performing/foreign_batches.hpp"
#include "worker/performing/ignored_options.hpp"
#include "worker/performing/job_title.hpp"
#include "worker/performing/left_behind.hpp"
#include "worker/performing/quarantine.hpp"
#include "worker/performing/recycling.hpp"
#include "worker/performing/run_book.hpp"
#include "worker/performing/run_spans.hpp"
#include "worker/performing/short_classes.hpp"
#include "worker/sandbox/sandbox.hpp"

namespace brood {

// Everything between a fetched payload and its outcome, for one worker's jobs one after the other: what the scoreboard
// says meanwhile, the limits that hold, what is measured and logged, and what is put right afterwards.
class Performer {
 public:
  // `of_supervisor` says to whom its spans go.
  Performer(const Config& config, const Identity& of_supervisor, const WorkerSetup& worker_setup, WorkerSlot& slot,
            SupervisorOrders& control, Channel& redis, JobRegistry& registry);

  // Unless they are loaded already.  Throws LibraryError.
  void load_libraries();
  const JobRegistry& registry() const { return registry_; }
  // Call it before the first job: every later one is to find the state that is there now.
  void note_process_state();

  // Who holds the limits that jobs take, and where they lie: all but LimitKeeper::Setup's pause.  To be said first.
  void keep_limits(LimitKeeper::Setup setup);

  // Makes the copy of this worker that forks the processes of isolated jobs, if there are such classes.  Throws
  // LibraryError.
  void prepare_isolation();
  // Ends that copy; for a worker that ends in order.
  void leave_isolation();

  // Call these around library code that is no job; what it leaves behind is put right as after a job.
  void begin_handlers(std::string_view event);
  void end_handlers();

  // A batch of so many jobs begins.  If there are several, they are short: what they use is measured once for all of
  // them.
  void begin_batch(std::size_t jobs);
  void end_batch();

  // Performs entry `entry` of the held batch; nullopt: it was not performed, since the supervisor has taken it back, or
  // it may be long while others wait to be settled, or there is a reason to recycle.  Does not return when the
  // supervisor ends this worker for it, or when the process of an isolated job has crashed: the worker then ends in the
  // same way.
  std::optional<Outcome> perform_entry(int entry, const std::string& text, const std::string& queue, bool others_wait);

  // Whether a job may have to wait for its class, in quarantine or paused; then whether this one must, and lays it
  // aside: nullopt where the supervisor has taken it back.  One that came too late need not.
  bool may_defer() { return quarantine_.may_defer(); }
  bool is_to_park(const std::string& text);
  std::optional<Outcome> park(int entry, const std::string& queue);
  // Whether a job has come too late to begin: perform_entry() ends it then.
  bool is_too_late(const std::string& text);

  // There is no memory to read entry `entry`.  It counts as begun, so that it is charged when the worker ends for that.
  void begin_unread(int entry);

  // Entry `entry` is not performed now: another runs under its lock.  It waits in the schedule for a moment, or is
  // dropped.  nullopt: the supervisor has taken it back.
  std::optional<Outcome> put_off(int entry, const std::string& text, const std::string& queue, bool dropped);

  // Before what it returned is settled: how far the iterable jobs among them came, should Redis not have taken that
  // yet.  `pause` throws to give up.
  bool has_unsaved_iteration() const { return iterations_.has_unsaved_cursor(); }
  void save_iterations(const std::function<void(std::chrono::milliseconds)>& pause) { iterations_.deliver(pause); }

  // Which classes are paused by now.
  void follow_pauses(std::function<const NameSet*()> paused) { quarantine_.follow_pauses(std::move(paused)); }

  // Call it between batches: looks which classes are in quarantine.
  void look_at_quarantine(SteadyTime now) { quarantine_.look(now); }
  bool has_quarantined() const { return quarantine_.some_wait(); }
  // The worker has gone to another shard: what was known of the one before is not true there.
  void forget_shard() {
    quarantine_.forget();
    fleet_ = {};
  }

  // Why this worker is to be replaced by a new one; nullopt: it goes on.
  std::optional<RecycleReason> reason_to_recycle();
  const WorkerAge& age() const { return age_; }

 private:
  IterationHost iteration_host();
  LimitHost limit_host();
  void prepare_sandboxes();
  std::optional<Failure> enter_class_sandbox();
  void begin_job_process();
  void be_job_process(UniqueFd socket);
  Outcome perform_apart(int entry, const std::string& text, const std::string& queue, SteadyTime started);
  JobEnd run_apart(const JobOrder& order);
  Outcome settle_apart(int entry, const std::string& queue, SteadyTime started, const JobEnd& end);
  [[noreturn]] void end_like(int status);
  FailureRule failure_rule();
  RunBook::ClassFacts class_facts() const;  // of the job under way
  Performed perform_within_limits(const Payload& job, const std::string& queue, SteadyTime started);
  Performed perform_watched(const Payload& job, const std::string& queue);
  std::uint64_t share_of_host() const;
  Outcome settle(int entry, const Payload& job, const std::string& queue, const Performed& performed,
                 SteadyTime started);
  bool came_in_clear() const;  // though its class says that its jobs are encrypted
  void warn_of_clear_job(const std::string& queue);
  void open_job();
  void read_job(const std::string& text);
  bool came_too_late();
  Outcome expire(int entry, const std::string& queue);
  Outcome judge(const Payload& job, const std::string& queue, Failure failure, bool ask_hooks = true);
  Outcome move_to_dead(int entry, const std::string& text, const std::string& queue, const std::string& why);
  Outcome defer_for_limit(const Payload& job, const std::string& queue, const Performed& performed) const;
  log::Level level_of_jobs() const { return config_.log_jobs ? log::Level::info : log::Level::debug; }
  std::optional<std::chrono::milliseconds> time_left() const;
  bool ends_between_items();
  bool ran_out_of_time() const;
  bool out_of_time() const;
  static std::chrono::milliseconds whole_ms(SteadyTime from, SteadyTime to);
  static void log_failure(const Payload& job, const std::string& queue, SteadyTime started, const Failure& failure);
  void end_entry(int entry, EntryState state);
  [[noreturn]] void wait_for_the_end();
  void end_if_a_copy(std::string_view jid, std::string_view job_class) const;

  pid_t process_ = getpid();  // this worker's, or that of the isolated job
  const Config& config_;
  const WorkerSetup& worker_setup_;
  const WorkerSettings& settings_;
  WorkerSlot& slot_;
  SupervisorOrders& orders_;
  Channel& redis_;
  RunBook runs_;
  StandardOutput output_;
  SyscallWatch syscall_watch_;
  bool made_calls_ = true;   // the job that ran last made system calls, or may have
  bool runs_hooks_ = false;  // that job failed, and its library is asked what becomes of it
  bool batch_made_calls_ = false;
  IterationKeeper iterations_;
  std::optional<LimitKeeper> limits_;
  const AskRedis ask_redis_;  // a connection that is idle while a job runs
  FleetRelease fleet_;
  bool iteration_ended_ = false;  // the job under way has no item left
  JobHost host_;
  Payload job_;                          // the one under way; its memory serves them all
  std::optional<Failure> locked_;        // why its arguments cannot be decrypted, or may not be in clear
  std::set<std::string> told_of_clear_;  // classes of which a job has come in clear
  ItemClock item_clock_;                 // its run's
  bool moves_deadline_ = true;           // false: in a sandbox
  std::optional<WallTime> expired_;      // it came too late to begin, and of its class the on_expired hook alone runs
  JobRegistry& registry_;
  const ClassRules rules_;
  Quarantine quarantine_;
  ForeignBatches foreign_batches_;
  IgnoredOptions ignored_options_;
  std::optional<MemoryLimit> memory_limit_;  // once the libraries are loaded
  JobMeter meter_;
  std::optional<RunSpans> spans_;  // where somebody wants to be told
  ShortClasses short_classes_;
  WorkerAge age_;
  LeftBehind left_behind_;
  JobTitle title_;
  std::vector<std::uint64_t> thrown_at_;  // where the job under way threw what came out, if it wants that known
  std::string event_;                     // whose handlers run
  std::optional<ScratchRecord> scratch_;  // of a worker that knows classes with a sandbox
  std::optional<JobCgroup> job_cgroup_;   // likewise
  SandboxOffers sandbox_offers_;          // likewise
  std::optional<JobForker> forker_;       // of a worker that knows isolated classes
  std::optional<JobChannel> channel_;     // in the process of an isolated job
};

}  // namespace brood
