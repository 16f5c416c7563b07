#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/client.hpp>
#include <brood/periodic.hpp>

namespace brood {

// Reads and changes the jobs, queues and processes in Redis as Sidekiq's own API does: a Ruby process sees no
// difference. Section numbers are those of Sidekiq's wire specification, against which the tests check every command.
//
//   brood::Api api;
//   api.retries().scan("ResizeImage", [&](const brood::SetEntry& entry) { ...; return true; });
//   api.dead().run(*api.dead().find("0123456789abcdef01234567"));
//
// Times are wall-clock times.  Durations without a type of their own are seconds.  Texts are bytes as in Redis, and
// may have any content.  Values of other programs that cannot be read are left out or count as zero, such as a process
// without `info` or a counter that is not a number.
//
// All calls that ask Redis throw RedisError, with its address and Redis' words: it cannot be reached, it refuses, or
// the key of the call has another type.  After a lost connection a change may or may not have been made.  An invalid
// argument (an empty page, a history of no day) throws std::invalid_argument.
//
// If several Redis servers hold jobs ([[redis.shard]] in brood.toml(5)), an Api shows all of these shards as one.
// Numbers are sums.  Sets are in the order of their scores across shards.  A change to an entry or a job is made in
// its own shard. Api::shard() gives access to a single shard.
//
// Several threads may use an object, one call at a time.  The objects of one Api share its connection and lock it for
// each conversation, but not while a function that was passed in runs.  They may outlive the Api.  In a forked child
// they connect again.

// A point in time of the wall clock.
using Time = std::chrono::system_clock::time_point;

// A job as stored in Redis.  For a text that is not a job only `payload` is set.
struct BROOD_API JobRecord {
  std::string payload;                      // the stored bytes, by which it is deleted
  bool is_job = false;                      // a JSON object with `class` and `args`
  std::string jid;                          // empty if the payload has none
  std::string queue;                        // the queue that it lies in, else the one in the payload
  std::string job_class;                    // `class` of the payload: the class that runs
  std::string display_class;                // the name for people: display_class, else wrapped, else class
  std::string args;                         // JSON array, as written
  std::vector<std::string> tags;            // those that are strings
  std::optional<Time> created_at;           // when it was made
  std::optional<Time> enqueued_at;          // when it was last put into a queue
  std::optional<Time> failed_at;            // when it failed first
  std::optional<Time> retried_at;           // when it failed last, from its second failure on
  std::optional<std::int64_t> retry_count;  // 0 after the first failure; nullopt: no failure
  std::string error_class, error_message;   // of its last failure; empty: no failure
  std::string shard;                        // the shard that holds it; empty: only one, or unknown

  // Reads a payload.  Never throws because of its text.
  static JobRecord read(std::string payload);

  // Returns the JSON text of a top-level member, as written; nullopt if there is none.
  std::optional<std::string> member(std::string_view name) const;

  // Returns `args` as pages and lists show them: the last one of an encrypted job as "[encrypted data]".
  std::string display_args() const;

  // Returns the decoded lines of error_backtrace; empty if it is missing or cannot be read.
  std::vector<std::string> backtrace() const;
};

// An entry of `schedule`, `retry` or `dead`.
struct BROOD_API SetEntry : JobRecord {
  double score = 0;        // epoch seconds: when it will run, or when it died
  std::string score_text;  // the same, as Redis writes it

  Time time() const;  // the score as a point in time
};

// Called with the amount done and the total.  Returns false to stop.  `total` is the number at the beginning.
using Progress = std::function<bool(std::size_t done, std::size_t total)>;

// The result of an operation on many entries: wanted = done + gone + stuck.
struct BROOD_API BulkResult {
  std::size_t looked_at = 0;  // entries judged by the condition
  std::size_t wanted = 0;     // entries that met the condition
  std::size_t done = 0;       // wanted entries that were changed
  std::size_t gone = 0;       // wanted entries that were taken away meanwhile
  // Wanted entries that could not be moved, and stay: not a job, the key of the queue is not a list, or another job
  // holds the lock of this one.
  std::size_t stuck = 0;
  bool stopped = false;  // whether `progress` stopped it
};

namespace detail {
class __attribute__((visibility("hidden"))) ApiShards;
struct Opening;
}  // namespace detail

// One queue: a list whose oldest job is the next to run.  A queue that does not exist is empty.
//
// Jobs that wait for a place of a cap of classes ([limits.NAME] in brood.toml(5)) lie in a queue beside it, of the name
// "QUEUE@CAP", and jobs of a class in quarantine or paused in a set of their own.  `brood queues` shows them with the
// queue.
class BROOD_API Queue {
 public:
  const std::string& name() const { return name_; }  // without "queue:"
  std::size_t size() const;                          // jobs that wait
  double latency()
      const;  // seconds that the next job has waited since it was enqueued; 0: none waits; of shards the most

  // Reads the jobs from the newest to the oldest, as Sidekiq lists them, in pages.  `visit` returns false to stop.  A
  // job that stays in the queue is never passed over while others come and go, but some may come twice.  Several
  // shards come one after the other.
  void each(const std::function<bool(const JobRecord&)>& visit) const;
  std::vector<JobRecord> page(std::size_t number, std::size_t per_page = 25) const;  // number 0 has the newest
  std::optional<JobRecord> find(std::string_view jid) const;                         // reads the whole queue

  bool remove(const JobRecord& job);  // false if it is not there with these bytes
  // Removes jobs that `wanted` takes, from the newest to the oldest; the others keep their order.  An empty condition
  // takes all.  Redis reaches the middle of a list only from an end: in a queue of a million jobs each 250 that are
  // removed may block Redis for some 25 ms, and so may the one of remove().  Jobs that were fetched meanwhile count as
  // gone.  So may jobs behind which a thousand others were pushed while a page was judged.
  BulkResult remove_if(const std::function<bool(const JobRecord&)>& wanted, const Progress& progress = {});
  // Deletes all jobs that wait now, and the queue's name.  Jobs pushed meanwhile stay.  Returns how many were
  // deleted.
  std::size_t clear();

  // Read and change the set `paused`.  brood's workers follow it within two seconds, as Sidekiq Pro's do.  Running
  // jobs go on. With several shards, pause() and unpause() change all, and paused() returns true if any has it.
  bool paused() const;
  void pause();
  void unpause();

 private:
  friend class Api;
  Queue(std::shared_ptr<detail::ApiShards> shards, std::string name);
  std::shared_ptr<detail::ApiShards> shards_;
  std::string name_;
};

// The entry could not be moved and stays: its queue has no name, the key of its queue is not a list, or another job
// holds the lock of a dead unique job.
class BROOD_API JobStays : public RedisError {
 public:
  using RedisError::RedisError;
};

// `schedule`, `retry` or `dead`.  Every move of a job is one atomic script, which checks that the entry is still as it
// was read.  So no job is lost or doubled when this process dies, and a concurrent change wins.
class BROOD_API JobSet {
 public:
  const std::string& name() const { return name_; }  // its key
  std::size_t size() const;                          // entries

  // By score.  lowest_first: the entries that are due next, or died first.
  enum class Order { lowest_first, highest_first };
  // Returns `per_page` entries in that order, from entry number * per_page on.
  std::vector<SetEntry> page(std::size_t number, std::size_t per_page = 25, Order order = Order::lowest_first) const;
  // Reads all entries in pages, by default those of the highest score first, as Sidekiq lists them.  `visit` returns
  // false to stop.
  void each(const std::function<bool(const SetEntry&)>& visit, Order order = Order::highest_first) const;
  // Reads the entries whose text contains `match`, or fits it as a pattern if it contains a "*".  Redis searches; the
  // order is undefined, and an entry may come twice.  An empty match takes all.
  void scan(std::string_view match, const std::function<bool(const SetEntry&)>& visit) const;
  // The same.  `progress` is called after each 250 entries or so that Redis looked at, however few it found.  Returns
  // false if `visit` or `progress` stopped it, so that there may be more.
  bool scan(std::string_view match, const std::function<bool(const SetEntry&)>& visit, const Progress& progress) const;
  std::optional<SetEntry> find(std::string_view jid) const;  // searched within Redis
  // Returns the first entry with this score (epoch seconds) that `wanted` takes; read page by page, however many share
  // it.
  std::optional<SetEntry> find(double score, const std::function<bool(const SetEntry&)>& wanted) const;
  std::vector<SetEntry> fetch(double score) const;                   // all entries of one score: epoch seconds
  std::vector<SetEntry> fetch(double lowest, double highest) const;  // both included

  // Removes an entry.  Returns false if it is not there as it was read.
  bool remove(const SetEntry& entry);
  // Moves an entry to its queue now.  From `retry` and `dead`, its retry_count is lowered by one; its other bytes
  // stay. Returns false if it is not there as it was read.  Throws std::invalid_argument if the entry is not a job;
  // JobStays if its queue has no name, the key of its queue is not a list, or another job holds the lock of a dead
  // unique job.  Otherwise a dead unique job takes its lock again.
  bool run(const SetEntry& entry);
  // Moves an entry to `dead`, with the present time.  Death handlers do not run.  Returns false if it is not there as
  // it was read.
  bool kill(const SetEntry& entry);
  // Moves an entry to another time in the same set, to the microsecond.  Returns false if it is not there as it was
  // read.
  bool reschedule(const SetEntry& entry, Time time);

  // Operations on many entries, in batches of up to 250 that block Redis for half a millisecond to two each.  An empty
  // condition takes all.  They go from the lowest score to the entry that is the last when they begin.  Entries that
  // others add before that may be met too, but no more than as many again.  Several shards come one after the other.
  using Condition = std::function<bool(const SetEntry&)>;
  // As remove(), run() and kill(), for the entries that `wanted` takes.
  BulkResult remove_if(const Condition& wanted, const Progress& progress = {});
  BulkResult run_all(const Condition& wanted = {}, const Progress& progress = {});
  BulkResult kill_all(const Condition& wanted = {}, const Progress& progress = {});
  std::size_t clear();  // removes everything, whatever the key holds; returns the number of entries

 private:
  friend class Api;
  JobSet(std::shared_ptr<detail::ApiShards> shards, std::string name);
  std::shared_ptr<detail::ApiShards> shards_;
  std::string name_;
};

// One entry of the process list: a supervisor of brood, or a Ruby Sidekiq (section 7.2).
struct BROOD_API Process {
  // A group of its workers, or threads, with queues of its own.
  struct Capsule {
    std::string name;                             // "default" if no capsules are configured
    std::int64_t concurrency = 0;                 // how many jobs it runs at once
    std::string mode;                             // strict, random, weighted
    std::map<std::string, std::int64_t> weights;  // by queue; 0 in strict mode
  };
  std::string identity;             // `<hostname>:<pid>:<random>`, its key
  std::string hostname;             // as the process reports it
  std::string tag;                  // as configured
  std::string version;              // of Sidekiq, or of brood
  std::int64_t pid = 0;             // on its host; brood's: of the supervisor
  std::vector<std::string> queues;  // of all capsules
  std::vector<std::string> labels;  // as configured
  std::vector<Capsule> capsules;    // empty from releases before 8.0.9
  std::int64_t concurrency = 0;     // how many jobs it runs at once
  std::int64_t busy = 0;            // how many it runs now
  std::int64_t rss_kb = 0;          // resident memory in KB; brood's includes its workers
  std::int64_t rtt_us = 0;          // Redis' answer time, in microseconds
  bool quiet = false;               // it fetches no more
  bool embedded = false;            // part of another program; ignores quiet() and stop()
  Time started_at{};                // when it began
  Time beat{};                      // its last heartbeat
  std::vector<std::string> shards;  // the shards that list it; `busy` is their sum.  Empty: only one Redis
};

// A job that is running, as of the last heartbeat of its process (section 7.3).
struct BROOD_API Work {
  std::string identity;  // of its process
  std::string tid;       // its thread; brood's: its worker
  std::string queue;     // the one it was fetched from
  JobRecord job;         // as it was fetched, with its shard
  Time run_at{};         // when this attempt began, to the second
};

// The progress of an iterable job (section 5.8), as of its last flush; it flushes every 5 s or so.
struct BROOD_API IterationRecord {
  std::int64_t executions = 0;            // runs that have begun
  std::string cursor;                     // JSON text; empty: none yet
  double run_seconds = 0;                 // of all runs, until the last save
  std::optional<Time> cancelled_at = {};  // when it was cancelled
};

// A summary of a queue.
struct BROOD_API QueueSummary {
  std::string name;      // without "queue:"
  std::size_t size = 0;  // jobs that wait
  double latency = 0;    // seconds that the next one has waited
  bool paused = false;   // no worker fetches from it
  bool is_list = true;   // false: its key has another type, and pushes to it fail
};

// The numbers of Sidekiq's dashboard (section 8).
struct BROOD_API Stats {
  std::uint64_t processed = 0, failed = 0;             // since the last reset; `processed` includes the failed
  std::uint64_t scheduled = 0, retries = 0, dead = 0;  // entries of the three sets
  std::uint64_t enqueued = 0;                          // jobs in all known queues
  std::uint64_t processes = 0;                         // entries of `processes`
  std::uint64_t busy = 0;                              // jobs that these run
  double default_latency = 0;                          // seconds, of the queue "default"
};

// The runs of one day.
struct BROOD_API DayStats {
  std::string day;                          // YYYY-MM-DD, UTC
  std::uint64_t processed = 0, failed = 0;  // as in Stats
};

// The runs of a class (section 5.7).
struct BROOD_API ClassMetrics {
  std::string job_class;                    // `wrapped` of the payload, else `class`
  std::uint64_t processed = 0, failed = 0;  // runs; `processed` includes the failed
  std::uint64_t milliseconds = 0;           // total time of the successful runs
  double average_seconds() const;           // of the successful runs; 0: none
};

// One minute of one class.
struct BROOD_API MinuteMetrics {
  Time minute{};                                              // its beginning
  std::uint64_t processed = 0, failed = 0, milliseconds = 0;  // as in ClassMetrics
  std::vector<std::uint32_t> histogram;  // 26 buckets: successful runs by duration; see histogram_bounds_ms()
};

// Returns the upper bounds of the first 25 buckets, in milliseconds, each exclusive.  The last bucket has no bound
// (section 5.7).
BROOD_API const std::vector<std::uint32_t>& histogram_bounds_ms();

// A deploy: a line in the graphs of Sidekiq's metrics.
struct BROOD_API DeployMark {
  Time at{};          // a whole minute
  std::string label;  // such as a commit
};

// A job class that is paused: no worker of brood begins a job of it.  Ruby's Sidekiq ignores that.
struct BROOD_API PausedClass {
  std::string job_class;           // its name
  std::string reason;              // why it is paused; empty: no reason was given
  std::optional<Time> since = {};  // nullopt: unknown
  std::optional<Time> until = {};  // when it is unpaused by itself; nullopt: never
  std::string shard = {};          // the shard in which it is paused; empty: only one Redis
};

// A limit of jobs and its usage: a brood::Limiter of a job, or a cap of queues ([limits.NAME] in brood.toml).  It is
// listed from its first use on, a limiter until it was not used for its ttl.
struct BROOD_API LimitUsage {
  std::string name;                       // as the code or the configuration gives it
  std::string kind;                       // "cap", "concurrent", "bucket", "window", "leaky" or "points"
  std::int64_t limit = 0;                 // at once, or in the interval
  std::chrono::milliseconds interval{0};  // 0: at once
  std::int64_t held = 0;                  // held by running jobs, or used of the interval
  // Counters of a limiter since its first use or its last reset.
  std::int64_t taken = 0, waited = 0;      // how often it was taken, and waited for
  std::chrono::milliseconds wait_time{0};  // total time of all waits
  std::int64_t over = 0;                   // how often it stayed reached for longer than a job waits
  std::int64_t reclaimed = 0;              // slots taken back from holders that had ended
  std::vector<std::string> holders = {};   // of slots and places: "<identity>/<slot>.<incarnation>"
  std::string shard = {};                  // the shard that holds it; empty: only one Redis
};

// Access to one Redis, or to all shards.  It connects at the first call, and again after a loss.  It can be moved,
// not copied.
class BROOD_API Api {
 public:
  // In a job: the Redis of its worker.  Elsewhere as `brood run` finds it: by the machine's configuration,
  // REDIS_PROVIDER or REDIS_URL, else the embedded one. Throws RedisError if the configuration cannot be read.  Sends
  // nothing yet.
  Api();
  // `redis_url` is a redis://, rediss://, unix://, sentinel:// or cluster:// URL as in brood.toml(5), or "embedded".
  // A cluster is assumed to have 16 shards.  Throws RedisError if it is none of these.
  explicit Api(const std::string& redis_url);
  ~Api();
  Api(Api&&) noexcept;
  Api& operator=(Api&&) noexcept;

  // Returns the names of the shards, in the order of the configuration.  With one Redis there is one name, which may
  // be empty.
  std::vector<std::string> shards() const;
  // Returns an Api of one shard.  Throws std::invalid_argument, with the names that there are, for an unknown name.
  Api shard(std::string_view name) const;
  // Sets a function that is called for each shard that cannot be reached; the answers of the other shards are then
  // used. Without such a function the call throws after the other shards were asked.  If all shards are away, it
  // always throws.
  void on_away(std::function<void(const std::string& shard, const std::string& why)> left_out);

  std::vector<Queue> queues();                  // all known queues, by name; each tenant has one
  Queue queue(std::string name);                // throws std::invalid_argument for an empty name
  std::vector<QueueSummary> queue_summaries();  // of each of them, by name, in two round trips
  // The same with "images~*" for all tenants of images: how many jobs they have together, and the longest latency.
  std::vector<QueueSummary> queue_summaries_by_base();
  // The queues of the tenants of "images", or of those that "images~b*" names; the fullest first.
  std::vector<QueueSummary> tenants(std::string_view of);

  JobSet scheduled();  // `schedule`
  JobSet retries();    // `retry`
  JobSet dead();       // `dead`
  // Sets the bounds to which `dead` is cut when an entry is added (section 5.6); as in Sidekiq max_jobs - 1 entries are
  // kept. The default is the machine's configuration, if that names the Redis.  Otherwise `dead` is not cut here,
  // since the bounds of the servers are not known; they cut it themselves.  Throws std::invalid_argument for less than
  // one job or one second.
  void limit_dead(std::int64_t max_jobs, std::chrono::seconds timeout);

  std::vector<Process> processes();  // by identity; removes entries without a heartbeat, as Sidekiq does
  std::optional<Process> process(std::string_view identity);  // nullopt if there is none
  std::string leader();                                       // the leader of Sidekiq Enterprise; empty: none
  // Ask a process to fetch no more, or to end.  It does so at its next heartbeat, within 10 s.  Return false if there
  // is no such process, or if it is embedded in a program.
  bool quiet(std::string_view identity);
  bool stop(std::string_view identity);
  // Asks a supervisor of brood that was told to be quiet to fetch again; it does so within some seconds.  Returns false
  // if there is no such process, or if it is Ruby's: Sidekiq has no such signal.
  bool resume(std::string_view identity);
  bool dump(std::string_view identity);  // writes the stacks of its running jobs into its log; embedded processes too
  std::vector<Work> work();              // the longest-running first

  // Returns the caps and then the limiters of each shard, by name; with `name` only those of that name.
  std::vector<LimitUsage> limits(std::string_view name = {});
  // Sets the used amount of the interval and the counters of a limit to zero.  Slots and places stay with the jobs
  // that hold them.  Returns false if there is no limit of that name.
  bool reset_limit(std::string_view name);

  Periodic periodic();  // periodic jobs: <brood/periodic.hpp>

  std::vector<PausedClass> paused_classes();  // of each shard by name
  // Pauses a class in all shards, or gives its pause another reason (at most 500 bytes) and end: after `length`, or
  // with 0 at unpause_class().  Workers follow within two seconds.  Running jobs go on; others wait without being
  // charged. Throws std::invalid_argument for an empty class, a longer reason, or a length below 0 or above a year.
  void pause_class(std::string_view job_class, std::string_view reason = {},
                   std::chrono::seconds length = std::chrono::seconds(0));
  // Workers put the waiting jobs back within seconds.  Returns false if it was paused nowhere.
  bool unpause_class(std::string_view job_class);

  std::optional<IterationRecord> iteration(std::string_view jid);  // nullopt if the jid is unknown

  Stats stats();                                 // the present numbers, in some two round trips
  void reset_stats();                            // sets processed and failed to 0; the days keep theirs
  std::vector<DayStats> history(int days = 30);  // today first; 1 to 1825

  // Returns the classes by the total time of their runs, the longest first.  At most 72 hours: by the minute up to an
  // hour, else by ten minutes.
  std::vector<ClassMetrics> top_classes(std::chrono::minutes length = std::chrono::hours(1));
  // Returns every minute, also those without runs, the oldest first; the last one is not over yet.  At most 8 hours.
  std::vector<MinuteMetrics> metrics_of(std::string_view job_class,
                                        std::chrono::minutes length = std::chrono::hours(1));
  // Notes a deploy, once a minute for each label.  Returns false if it was noted already.
  bool mark_deploy(std::string_view label, Time at = std::chrono::system_clock::now());
  // Returns the deploys of the day (UTC), the earliest first.
  std::vector<DeployMark> deploy_marks(Time day = std::chrono::system_clock::now());

 private:
  friend struct detail::Opening;
  explicit Api(std::shared_ptr<detail::ApiShards> shards);
  std::shared_ptr<detail::ApiShards> shards_;
};

}  // namespace brood
