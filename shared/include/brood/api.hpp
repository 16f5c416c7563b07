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

// Reads and changes the jobs, queues and processes in Redis as Sidekiq's own API does: a Ruby process notices no
// difference.  Section numbers are those of Sidekiq's wire specification, against which the tests check every command.
//
//   brood::Api api;
//   api.retries().scan("ResizeImage", [&](const brood::SetEntry& entry) { ...; return true; });
//   api.dead().run(*api.dead().find("0123456789abcdef01234567"));
//
// Times are wall-clock times.  Durations without a type of their own are seconds.  Texts are bytes as in Redis, and
// may have any content.  Values of other programs that cannot be read are left out or count as zero, such as a process
// without `info` or a counter that is not a number.
//
// All calls that ask Redis throw RedisError, with the address and the error message of Redis, if Redis cannot be
// reached or refuses the call, or if the key of the call has another type.  After a lost connection a change may or may
// not have been made.  An invalid argument (an empty page, a history of no day) throws std::invalid_argument.
//
// If several Redis servers hold jobs ([[redis.shard]] in brood.toml(5)), an Api shows all of these shards as one.
// Numbers are sums.  Sets are in the order of their scores across shards.  A change to an entry or a job is made in
// its own shard.  Api::shard() gives access to a single shard.
//
// Several threads may use an object; it runs one call at a time.  The objects of one Api share its connection and lock
// it for each exchange with Redis, but not while a function of the caller runs.  They may outlive the Api.  In a forked
// child they connect again.

// A point in time of the wall clock.
using Time = std::chrono::system_clock::time_point;

// A job as stored in Redis.  For a text that is not a job only `payload` is set.
struct BROOD_API JobRecord {
  std::string payload;                      // the stored bytes, by which it is deleted
  bool is_job = false;                      // a JSON object with `class` and `args`
  std::string jid;                          // empty if the payload has none
  std::string queue;                        // the queue that holds it, else the queue in the payload
  std::string job_class;                    // `class` of the payload: the class that runs
  std::string display_class;                // the name for people: display_class, else wrapped, else class
  std::string args;                         // JSON array, as written
  std::vector<std::string> tags;            // its tags that are strings
  std::optional<Time> created_at;           // when it was made; nullopt here and below: the payload has none
  std::optional<Time> enqueued_at;          // when it was last put into a queue
  std::optional<Time> failed_at;            // when it failed first
  std::optional<Time> retried_at;           // when it failed last, from its second failure on
  std::optional<std::int64_t> retry_count;  // 0 after the first failure; nullopt: no failure
  std::string error_class, error_message;   // of its last failure; empty: no failure
  std::string shard;                        // the shard that holds it; empty: there is only one, or it is unknown

  // Reads a payload.  It never throws because of the text.
  static JobRecord read(std::string payload);

  // Returns the JSON text of a top-level member, as written; nullopt if there is none.
  std::optional<std::string> member(std::string_view name) const;

  // Returns `args` as pages and lists show them.  The last argument of an encrypted job is "[encrypted data]".
  std::string display_args() const;

  // Returns the decoded lines of error_backtrace; empty if it is missing or cannot be read.
  std::vector<std::string> backtrace() const;
};

// An entry of `schedule`, `retry` or `dead`.
struct BROOD_API SetEntry : JobRecord {
  double score = 0;        // epoch seconds: the time at which it runs, or at which it died
  std::string score_text;  // the score as Redis writes it

  Time time() const;  // the score as a point in time
};

// A function that is called with the amount done and the total.  It returns false to stop.  `total` is the number at
// the beginning.
using Progress = std::function<bool(std::size_t done, std::size_t total)>;

// The result of an operation on many entries: wanted = done + gone + stuck.
struct BROOD_API BulkResult {
  std::size_t looked_at = 0;  // entries judged by the condition
  std::size_t wanted = 0;     // entries that met the condition
  std::size_t done = 0;       // wanted entries that were changed
  std::size_t gone = 0;       // wanted entries that another client removed or changed meanwhile
  // Wanted entries that could not be moved, and stay: the entry is not a job, the key of the queue is not a list, or
  // another job holds the lock of this one.
  std::size_t stuck = 0;
  bool stopped = false;  // whether `progress` stopped it
};

namespace detail {
class __attribute__((visibility("hidden"))) ApiShards;
struct Opening;
}  // namespace detail

// One queue: a list whose oldest job is the next to run.  A queue that does not exist is empty.
//
// Jobs that wait for a place of a cap of classes ([limits.NAME] in brood.toml(5)) are in another queue, whose name is
// "QUEUE@CAP".  Jobs of a class that is paused or in quarantine are in a set of their own.  `brood queues` shows both
// with the queue.
class BROOD_API Queue {
 public:
  const std::string& name() const { return name_; }  // without "queue:"
  std::size_t size() const;                          // number of jobs that wait
  double latency()
      const;  // seconds that the next job has waited since it was enqueued; 0: none waits; the largest of the shards

  // Reads the jobs from the newest to the oldest, as Sidekiq lists them, in pages.  `visit` returns false to stop.  A
  // job that stays in the queue is never passed over while others come and go, but some jobs may come twice.  Several
  // shards are read one after the other.
  void each(const std::function<bool(const JobRecord&)>& visit) const;
  std::vector<JobRecord> page(std::size_t number, std::size_t per_page = 25) const;  // number 0 has the newest
  std::optional<JobRecord> find(std::string_view jid) const;  // nullopt if it is not there; reads the whole queue

  bool remove(const JobRecord& job);  // returns false if the queue has no job with these bytes
  // Removes the jobs for which `wanted` returns true, from the newest to the oldest; the others keep their order.  An
  // empty condition removes all.  Redis reaches the middle of a list only from an end: in a queue of a million jobs
  // each removal of 250 jobs may block Redis for about 25 ms, and so may one remove().  Jobs that were fetched
  // meanwhile count as gone.  So may jobs after which a thousand others were pushed while `wanted` judged a page.
  BulkResult remove_if(const std::function<bool(const JobRecord&)>& wanted, const Progress& progress = {});
  // Deletes all jobs that wait now, and the queue's name.  Jobs pushed meanwhile stay.  Returns the number of deleted
  // jobs.
  std::size_t clear();

  // These read and change the set `paused`.  brood's workers follow it within two seconds, as Sidekiq Pro's do.
  // Running jobs go on.  With several shards, pause() and unpause() change all, and paused() returns true if the queue
  // is paused in any of them.
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

// One of the sets `schedule`, `retry` and `dead`.  Every move of a job is one atomic script, which checks that the
// entry is still as it was read.  So no job is lost or doubled when this process dies, and an entry that another client
// has changed is left alone.
class BROOD_API JobSet {
 public:
  const std::string& name() const { return name_; }  // its key
  std::size_t size() const;                          // number of entries

  // The order by score.  With lowest_first the entries that are due next, or died first, come first.
  enum class Order { lowest_first, highest_first };
  // Returns `per_page` entries in that order, from entry number * per_page on.
  std::vector<SetEntry> page(std::size_t number, std::size_t per_page = 25, Order order = Order::lowest_first) const;
  // Reads all entries in pages, by default those of the highest score first, as Sidekiq lists them.  `visit` returns
  // false to stop.
  void each(const std::function<bool(const SetEntry&)>& visit, Order order = Order::highest_first) const;
  // Reads the entries whose text contains `match`, or fits it as a pattern if it contains a "*".  Redis searches; the
  // order is undefined, and an entry may come twice.  An empty match finds all.
  void scan(std::string_view match, const std::function<bool(const SetEntry&)>& visit) const;
  // The same.  `progress` is called after about each 250 entries that Redis searched, however few it found.  Returns
  // false if `visit` or `progress` stopped it, so that there may be more.
  bool scan(std::string_view match, const std::function<bool(const SetEntry&)>& visit, const Progress& progress) const;
  std::optional<SetEntry> find(std::string_view jid) const;  // nullopt if it is not there; Redis searches
  // Returns the first entry with this score (epoch seconds) for which `wanted` returns true; nullopt: there is none.
  // It reads page by page, so many entries may have that score.
  std::optional<SetEntry> find(double score, const std::function<bool(const SetEntry&)>& wanted) const;
  std::vector<SetEntry> fetch(double score) const;                   // all entries with this score (epoch seconds)
  std::vector<SetEntry> fetch(double lowest, double highest) const;  // both included

  // Removes an entry.  Returns false if it is not there as it was read.
  bool remove(const SetEntry& entry);
  // Moves an entry to its queue now.  From `retry` and `dead`, its retry_count is lowered by one; its other bytes
  // stay.  Returns false if it is not there as it was read.  Throws std::invalid_argument if the entry is not a job;
  // JobStays if its queue has no name, the key of its queue is not a list, or another job holds the lock of a dead
  // unique job.  Otherwise a dead unique job takes its lock again.
  bool run(const SetEntry& entry);
  // Moves an entry to `dead`, with the present time.  Death handlers do not run.  Returns false if it is not there as
  // it was read.
  bool kill(const SetEntry& entry);
  // Moves an entry to another time in the same set, to the microsecond.  Returns false if it is not there as it was
  // read.
  bool reschedule(const SetEntry& entry, Time time);

  // The condition of operations on many entries.  An empty condition is always true.
  //
  // The operations work in batches of up to 250 entries, each of which blocks Redis for half a millisecond to two.
  // They go from the lowest score to the entry that is the last when they begin.  They may also find entries that
  // others add before that one, but at most as many as the set had.  Several shards are done one after the other.
  using Condition = std::function<bool(const SetEntry&)>;
  // These do what remove(), run() and kill() do, for the entries for which `wanted` returns true.
  BulkResult remove_if(const Condition& wanted, const Progress& progress = {});
  BulkResult run_all(const Condition& wanted = {}, const Progress& progress = {});
  BulkResult kill_all(const Condition& wanted = {}, const Progress& progress = {});
  std::size_t clear();  // deletes the key, whatever its type is; returns the number of entries

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
    std::int64_t concurrency = 0;                 // number of jobs that it may run at once
    std::string mode;                             // "strict", "random" or "weighted"
    std::map<std::string, std::int64_t> weights;  // by queue; 0 in strict mode
  };
  std::string identity;             // `<hostname>:<pid>:<random>`, its key
  std::string hostname;             // as the process reports it
  std::string tag;                  // as configured
  std::string version;              // that of Sidekiq, or of brood
  std::int64_t pid = 0;             // its pid on its host; for brood that of the supervisor
  std::vector<std::string> queues;  // those of all capsules
  std::vector<std::string> labels;  // as configured
  std::vector<Capsule> capsules;    // empty from releases before 8.0.9
  std::int64_t concurrency = 0;     // number of jobs that it may run at once
  std::int64_t busy = 0;            // number of jobs that it runs now
  std::int64_t rss_kb = 0;          // resident memory in KB; for brood it includes the workers
  std::int64_t rtt_us = 0;          // Redis' answer time, in microseconds
  bool quiet = false;               // it fetches no jobs any more
  bool embedded = false;            // part of another program; ignores quiet() and stop()
  Time started_at{};                // when it began
  Time beat{};                      // its last heartbeat
  std::vector<std::string> shards;  // the shards that list it; `busy` is their sum.  Empty: there is only one Redis
};

// A job that is running, as of the last heartbeat of its process (section 7.3).
struct BROOD_API Work {
  std::string identity;  // that of its process
  std::string tid;       // its thread; for brood its worker
  std::string queue;     // the queue that it was fetched from
  JobRecord job;         // as it was fetched, with its shard
  Time run_at{};         // when this attempt began, to the second
};

// The progress of an iterable job (section 5.8) at its last flush; by default it flushes every 5 s.
struct BROOD_API IterationRecord {
  std::int64_t executions = 0;            // number of runs that have begun
  std::string cursor;                     // JSON text; empty: none yet
  double run_seconds = 0;                 // total time of all runs, until the last flush
  std::optional<Time> cancelled_at = {};  // when it was cancelled; nullopt: it was not
};

// A summary of a queue.
struct BROOD_API QueueSummary {
  std::string name;      // without "queue:"
  std::size_t size = 0;  // number of jobs that wait
  double latency = 0;    // seconds that the next job has waited
  bool paused = false;   // no worker fetches from it
  bool is_list = true;   // false: its key has another type, and pushes to it fail
};

// The numbers of Sidekiq's dashboard (section 8).
struct BROOD_API Stats {
  std::uint64_t processed = 0, failed = 0;             // runs since the last reset; `processed` includes the failed
  std::uint64_t scheduled = 0, retries = 0, dead = 0;  // number of entries of the three sets
  std::uint64_t enqueued = 0;                          // number of jobs in all known queues
  std::uint64_t processes = 0;                         // number of entries of `processes`
  std::uint64_t busy = 0;                              // number of jobs that these processes run
  double default_latency = 0;                          // that of the queue "default", in seconds
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
  double average_seconds() const;           // average time of the successful runs; 0: there are none
};

// The runs of one class in one minute.
struct BROOD_API MinuteMetrics {
  Time minute{};                                              // its beginning
  std::uint64_t processed = 0, failed = 0, milliseconds = 0;  // as in ClassMetrics
  // The numbers of successful runs by their time, in 26 buckets: see histogram_bounds_ms().
  std::vector<std::uint32_t> histogram;
};

// Returns the upper bounds of the first 25 buckets, in milliseconds, each exclusive.  The last bucket has no bound
// (section 5.7).
BROOD_API const std::vector<std::uint32_t>& histogram_bounds_ms();

// The mark of a deploy: a line in the graphs of Sidekiq's metrics.
struct BROOD_API DeployMark {
  Time at{};          // a whole minute
  std::string label;  // such as a commit
};

// A job class that is paused: no worker of brood begins a job of it.  Ruby's Sidekiq ignores that.
struct BROOD_API PausedClass {
  std::string job_class;           // its name
  std::string reason;              // why it is paused; empty: no reason was given
  std::optional<Time> since = {};  // nullopt: unknown
  std::optional<Time> until = {};  // when the pause ends by itself; nullopt: never
  std::string shard = {};          // the shard in which it is paused; empty: there is only one Redis
};

// A limit of jobs and its usage: a brood::Limiter of a job, or a cap of queues ([limits.NAME] in brood.toml).  It is
// listed from its first use on.  A limiter is not listed any more once it was not used for its ttl.
struct BROOD_API LimitUsage {
  std::string name;                       // as the code or the configuration gives it
  std::string kind;                       // "cap", "concurrent", "bucket", "window", "leaky" or "points"
  std::int64_t limit = 0;                 // the number of uses at once, or in the interval
  std::chrono::milliseconds interval{0};  // 0: the limit is a number at once
  std::int64_t held = 0;                  // the part of the limit that jobs hold, or that is used of the interval
  // Counters of a limiter since its first use or its last reset.
  std::int64_t taken = 0, waited = 0;      // number of times that it was taken, and waited for
  std::chrono::milliseconds wait_time{0};  // total time of all waits
  std::int64_t over = 0;                   // number of times that a job waited in vain
  std::int64_t reclaimed = 0;              // number of slots taken back from holders that had ended
  std::vector<std::string> holders = {};   // those of slots and places: "<identity>/<slot>.<incarnation>"
  std::string shard = {};                  // the shard that holds it; empty: there is only one Redis
};

// Access to one Redis, or to all shards.  It connects at the first call, and again after a loss.  It can be moved,
// not copied.
class BROOD_API Api {
 public:
  // An Api of the worker's Redis in a job.  Elsewhere it finds Redis as `brood run` does: by the machine's
  // configuration, REDIS_PROVIDER or REDIS_URL, else the embedded one.  Throws RedisError if the configuration cannot
  // be read.  It does not connect yet.
  Api();
  // `redis_url` is a redis://, rediss://, unix://, sentinel:// or cluster:// URL as in brood.toml(5), or "embedded".
  // A cluster is assumed to have 16 shards.  Throws RedisError for any other text.
  explicit Api(const std::string& redis_url);
  ~Api();
  Api(Api&&) noexcept;
  Api& operator=(Api&&) noexcept;

  // Returns the names of the shards, in the order of the configuration.  With one Redis there is one name, which may
  // be empty.
  std::vector<std::string> shards() const;
  // Returns an Api of one shard.  Throws std::invalid_argument for an unknown name; the message has the known names.
  Api shard(std::string_view name) const;
  // Sets a function that a call of this Api calls for each shard that cannot be reached; the call then uses the answers
  // of the other shards.  Without such a function the call throws after it has asked the other shards.  If all shards
  // are away, it always throws.
  void on_away(std::function<void(const std::string& shard, const std::string& why)> left_out);

  std::vector<Queue> queues();                  // all known queues, by name; each tenant has one
  Queue queue(std::string name);                // throws std::invalid_argument for an empty name
  std::vector<QueueSummary> queue_summaries();  // one of each known queue, by name, in two round trips
  // The same with one summary "images~*" for all tenants of images: their number of jobs, and the longest latency.
  std::vector<QueueSummary> queue_summaries_by_base();
  // Returns the queues of the tenants of "images", or of those that "images~b*" names, the longest queue first.
  std::vector<QueueSummary> tenants(std::string_view of);

  JobSet scheduled();  // `schedule`
  JobSet retries();    // `retry`
  JobSet dead();       // `dead`
  // Sets the bounds to which `dead` is cut when this Api adds an entry (section 5.6); as in Sidekiq max_jobs - 1
  // entries are kept.  The default is the machine's configuration, if that names the Redis.  Otherwise this Api does
  // not cut `dead`, since it does not know the bounds of the servers; these cut it themselves.  Throws
  // std::invalid_argument for less than one job or one second.
  void limit_dead(std::int64_t max_jobs, std::chrono::seconds timeout);

  std::vector<Process> processes();  // by identity; removes entries without a heartbeat, as Sidekiq does
  std::optional<Process> process(std::string_view identity);  // nullopt if there is none
  std::string leader();                                       // the leader of Sidekiq Enterprise; empty: there is none
  // These ask a process to fetch no more, or to end.  It does so at its next heartbeat, within 10 s.  They return false
  // if there is no such process, or if it is embedded in a program.
  bool quiet(std::string_view identity);
  bool stop(std::string_view identity);
  // Asks a supervisor of brood that is quiet to fetch again.  It does so within some seconds.  Returns false if there
  // is no such process, or if it is Ruby's: Sidekiq has no such signal.
  bool resume(std::string_view identity);
  // Asks a process, also an embedded one, to write the stacks of its running jobs into its log.  Returns false if there
  // is no such process.
  bool dump(std::string_view identity);
  std::vector<Work> work();  // the running jobs, the longest-running first

  // Returns the caps and then the limiters of each shard, by name.  With `name` it returns only those of that name.
  std::vector<LimitUsage> limits(std::string_view name = {});
  // Sets the used amount of the interval and the counters of a limit to zero.  Jobs keep the slots and places that they
  // hold.  Returns false if there is no limit of that name.
  bool reset_limit(std::string_view name);

  Periodic periodic();  // periodic jobs: <brood/periodic.hpp>

  std::vector<PausedClass> paused_classes();  // shard by shard, by name
  // Pauses a class in all shards, or gives its pause another reason (at most 500 bytes) and another end.  The pause
  // ends after `length`, or with a length of 0 at unpause_class().  Workers follow within two seconds.  Running jobs go
  // on; others wait without being charged.  Throws std::invalid_argument for an empty class, a longer reason, or a
  // length below 0 or above a year.
  void pause_class(std::string_view job_class, std::string_view reason = {},
                   std::chrono::seconds length = std::chrono::seconds(0));
  // Ends the pause of a class in all shards.  Workers put the waiting jobs back into their queues within seconds.
  // Returns false if the class was not paused in any shard.
  bool unpause_class(std::string_view job_class);

  std::optional<IterationRecord> iteration(std::string_view jid);  // nullopt if the jid is unknown

  Stats stats();                                 // the present numbers, in about two round trips
  void reset_stats();                            // sets processed and failed to 0; the days keep theirs
  std::vector<DayStats> history(int days = 30);  // today first; 1 to 1825

  // Returns the classes with runs in the last `length`, by the total time of their runs, the longest first.  `length`
  // is at most 72 hours.  The data are by the minute up to an hour, else by ten minutes.
  std::vector<ClassMetrics> top_classes(std::chrono::minutes length = std::chrono::hours(1));
  // Returns every minute of the last `length`, at most 8 hours, also minutes without runs, the oldest first.  The last
  // minute is not over yet.
  std::vector<MinuteMetrics> metrics_of(std::string_view job_class,
                                        std::chrono::minutes length = std::chrono::hours(1));
  // Notes a deploy, once a minute for each label.  Returns false if it was noted already in that minute.
  bool mark_deploy(std::string_view label, Time at = std::chrono::system_clock::now());
  // Returns the deploys of the day (UTC), the earliest first.
  std::vector<DeployMark> deploy_marks(Time day = std::chrono::system_clock::now());

 private:
  friend struct detail::Opening;
  explicit Api(std::shared_ptr<detail::ApiShards> shards);
  std::shared_ptr<detail::ApiShards> shards_;
};

}  // namespace brood
