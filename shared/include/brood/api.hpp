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

namespace brood {

// What lies in Redis, read and changed as Sidekiq's own API does it: a Ruby process sees no difference.  Section
// numbers are those of Sidekiq's wire specification, which the tests hold every command against.
//
//   brood::Api api;
//   api.retries().scan("ResizeImage", [&](const brood::SetEntry& entry) { ...; return true; });
//   api.dead().run(*api.dead().find("0123456789abcdef01234567"));
//
// Times are the clock of the wall; durations without a type of their own are seconds; texts are bytes as they lie in
// Redis, and may hold anything. What others wrote and cannot be read, a process without `info` or a counter that is no
// number, is left out or counts as nothing.
//
// Whatever asks Redis throws RedisError, with its address and what it said: unreachable, refused, or the very key that
// the call is about holds something else.  After a lost connection a change may or may not have been made.  An argument
// that cannot be (an empty page, a history of no day) is std::invalid_argument.
//
// Where several Redis hold jobs ([[redis.shard]] in brood.toml(5)), an Api shows all of these shards as one: numbers
// are sums, sets are in the order of their scores whichever shard an entry lies in, and what is done to an entry or a
// job is done in its own shard.  Api::shard() is the way to one of them.
//
// Every object may be used by several threads, one call at a time: those of one Api share its connection and lock it
// for each conversation, but never while a function that was passed in runs.  The objects of an Api may outlive it.  In
// a child that was forked they connect anew.

// A point in time, on the clock of the wall.
using Time = std::chrono::system_clock::time_point;

// A job as it lies in Redis.  A text that is no job has its payload, and nothing else.
struct BROOD_API JobRecord {
  std::string payload;                      // the bytes: a delete goes by them
  bool is_job = false;                      // a JSON object with `class` and `args`
  std::string jid;                          // empty where the payload has none
  std::string queue;                        // as in the payload; of a job that lies in a queue, that one
  std::string job_class;                    // as in the payload: what is run
  std::string display_class;                // display_class, else wrapped, else class: what people know it by
  std::string args;                         // JSON array, as written
  std::vector<std::string> tags;            // that are texts
  std::optional<Time> created_at;           // when it was made
  std::optional<Time> enqueued_at;          // when it last came into a queue
  std::optional<Time> failed_at;            // when it failed first
  std::optional<Time> retried_at;           // when it failed last, from its second failure on
  std::optional<std::int64_t> retry_count;  // 0 after the first failure; nullopt: it has not failed
  std::string error_class, error_message;   // of its last failure; empty: none
  std::string shard;                        // that it lies in; empty: there is no other, or nobody has said

  // Reads a payload by itself.  Never throws for what the text holds.
  static JobRecord read(std::string payload);

  // The JSON text of a top-level member, as written; nullopt: there is none.
  std::optional<std::string> member(std::string_view name) const;

  // `args` as pages and lists show them: the last one of an encrypted job as "[encrypted data]".
  std::string display_args() const;

  // The lines of error_backtrace, decoded; none where it is missing or cannot be read.
  std::vector<std::string> backtrace() const;
};

// An entry of `schedule`, `retry` or `dead`.
struct BROOD_API SetEntry : JobRecord {
  double score = 0;        // epoch seconds: when it is to run, or when it died
  std::string score_text;  // the same as Redis spells it

  Time time() const;  // the score as a point in time
};

// Called with how much of how much is done; false: stop after this.  `total` is what was there at the beginning.
using Progress = std::function<bool(std::size_t done, std::size_t total)>;

// What became of the entries that an operation on many has looked at: wanted = done + gone + stuck.
struct BROOD_API BulkResult {
  std::size_t looked_at = 0;  // were judged by the condition
  std::size_t wanted = 0;     // met the condition
  std::size_t done = 0;       // of these
  std::size_t gone = 0;       // somebody else took them meanwhile
  // Could not be moved, and stay: no job, the key of the queue is no list, or another job holds the lock of this one.
  std::size_t stuck = 0;
  bool stopped = false;  // by `progress`
};

namespace detail {
class __attribute__((visibility("hidden"))) ApiShards;
struct Opening;
}  // namespace detail

// One queue: a list whose oldest job is the next to run.  It need not exist: then it is empty.
class BROOD_API Queue {
 public:
  const std::string& name() const { return name_; }  // without "queue:"
  std::size_t size() const;                          // jobs that wait
  double latency()
      const;  // seconds that the next job has waited since it was enqueued; 0: none waits; of shards the most

  // From the newest to the oldest, as Sidekiq lists them, in pages; `visit` returns false to stop.  None that stays is
  // passed over while others come and go, but some may come twice.  Shard after shard, where there are several.
  void each(const std::function<bool(const JobRecord&)>& visit) const;
  std::vector<JobRecord> page(std::size_t number, std::size_t per_page = 25) const;  // number 0: the newest
  std::optional<JobRecord> find(std::string_view jid) const;                         // goes through all of it

  bool remove(const JobRecord& job);  // false: it is not there any more, or not with these bytes
  // From the newest to the oldest; the others keep their order.  Redis has no other way into the midst of a list than
  // to go there from an end: in a queue of a million jobs every 250 that are removed may hold it up for some 25 ms, and
  // so may the one of remove().  No condition: all.  Jobs that were fetched meanwhile count as gone, and so may those
  // that a thousand others have been pushed behind while a page was judged.
  BulkResult remove_if(const std::function<bool(const JobRecord&)>& wanted, const Progress& progress = {});
  // Deletes all jobs that wait now, and the name; what is pushed meanwhile stays.  Returns how many.
  std::size_t clear();

  // The set `paused`, which brood's workers follow within two seconds, as Sidekiq Pro's do.  Running jobs go on.
  // With several shards: in all of them, and paused() asks for any.
  bool paused() const;
  void pause();
  void unpause();

 private:
  friend class Api;
  Queue(std::shared_ptr<detail::ApiShards> shards, std::string name);
  std::shared_ptr<detail::ApiShards> shards_;
  std::string name_;
};

// The entry stays where it is: its queue has no name, the key of its queue is no list, or another job holds the lock of
// a dead unique one.
class BROOD_API JobStays : public RedisError {
 public:
  using RedisError::RedisError;
};

// `schedule`, `retry` or `dead`.  Every move of a job is one atomic script, guarded by the entry as it was read: no job
// is lost or doubled when this process dies, and whoever changed the entry meanwhile wins.
class BROOD_API JobSet {
 public:
  const std::string& name() const { return name_; }  // its key
  std::size_t size() const;                          // entries

  // By score: what is due next, or died first; or the other end.
  enum class Order { lowest_first, highest_first };
  // Entries number * per_page and so on of that order.
  std::vector<SetEntry> page(std::size_t number, std::size_t per_page = 25, Order order = Order::lowest_first) const;
  // All entries, in pages: those of the highest score first, as Sidekiq lists them.
  void each(const std::function<bool(const SetEntry&)>& visit, Order order = Order::highest_first) const;
  // Those whose text holds `match`, or fits it where it holds a "*"; searched within Redis, unordered, and perhaps one
  // twice.  An empty match takes all.
  void scan(std::string_view match, const std::function<bool(const SetEntry&)>& visit) const;
  // The same; after each look of Redis at some 250 entries `progress` is asked whether to go on, however few it found.
  // False: it was stopped so, and there may be more.
  bool scan(std::string_view match, const std::function<bool(const SetEntry&)>& visit, const Progress& progress) const;
  std::optional<SetEntry> find(std::string_view jid) const;  // searched within Redis
  // The first of one score, epoch seconds, that `wanted` takes; read page by page, however many share the score.
  std::optional<SetEntry> find(double score, const std::function<bool(const SetEntry&)>& wanted) const;
  std::vector<SetEntry> fetch(double score) const;                   // all of one score: epoch seconds
  std::vector<SetEntry> fetch(double lowest, double highest) const;  // both included

  // One entry; false: it is not there any more as it was read.
  bool remove(const SetEntry& entry);
  // Onto its queue now; in `retry` and `dead` one less in retry_count, and the rest of its bytes as they were.  Throws
  // std::invalid_argument for what is no job, JobStays when its queue has no name, when the key of its queue is no
  // list, or when another job holds the lock of a dead unique one, which takes it again otherwise.
  bool run(const SetEntry& entry);
  // Into `dead`, as of now; no death handlers run.  False: it is not there any more as it was read.
  bool kill(const SetEntry& entry);
  // To another time, in the same set, to the microsecond; false likewise.
  bool reschedule(const SetEntry& entry, Time time);

  // Many, in batches of up to 250 that hold up Redis for half a millisecond to two each; no condition: all.  The lowest
  // score first, up to the entry that is the last when it begins: what others add before that may be met too, but no
  // more than as many again.  Shard after shard, where there are several.
  using Condition = std::function<bool(const SetEntry&)>;
  // As remove(), run() and kill() for those that the condition wants.
  BulkResult remove_if(const Condition& wanted, const Progress& progress = {});
  BulkResult run_all(const Condition& wanted = {}, const Progress& progress = {});
  BulkResult kill_all(const Condition& wanted = {}, const Progress& progress = {});
  std::size_t clear();  // all that is there now, whatever the key holds; returns how many entries

 private:
  friend class Api;
  JobSet(std::shared_ptr<detail::ApiShards> shards, std::string name);
  std::shared_ptr<detail::ApiShards> shards_;
  std::string name_;
};

// One entry of the process list: a supervisor of brood, or a Ruby Sidekiq (section 7.2).
struct BROOD_API Process {
  // A pool of its workers, or threads, with queues of its own.
  struct Capsule {
    std::string name;                             // "default" where none are configured
    std::int64_t concurrency = 0;                 // how many jobs it runs at once
    std::string mode;                             // strict, random, weighted
    std::map<std::string, std::int64_t> weights;  // of its queues; 0 where the mode is strict
  };
  std::string identity;             // `<hostname>:<pid>:<random>`, its key
  std::string hostname;             // as it says itself
  std::string tag;                  // as configured
  std::string version;              // of Sidekiq, or of brood
  std::int64_t pid = 0;             // on its host: of brood the supervisor's
  std::vector<std::string> queues;  // of all capsules
  std::vector<std::string> labels;  // as configured
  std::vector<Capsule> capsules;    // none from releases before 8.0.9
  std::int64_t concurrency = 0;     // how many jobs it runs at once
  std::int64_t busy = 0;            // how many it runs now
  std::int64_t rss_kb = 0;          // resident memory in KB, of brood with its workers'
  std::int64_t rtt_us = 0;          // how long Redis took to answer it, in microseconds
  bool quiet = false;               // it fetches no more
  bool embedded = false;            // it is a part of another program, and follows neither quiet() nor stop()
  Time started_at{};                // when it began
  Time beat{};                      // its last heartbeat
  std::vector<std::string> shards;  // where it beats; none: there is only one.  It is in each, and `busy` is their sum
};

// A job that runs, as of the last heartbeat of its process (section 7.3).
struct BROOD_API Work {
  std::string identity;  // of its process
  std::string tid;       // its thread, of brood its worker
  std::string queue;     // the one it was fetched from
  JobRecord job;         // as it was fetched, and from which shard
  Time run_at{};         // when this attempt began, to the second
};

// How far an iterable job has come (section 5.8): what is told of it at its flushes, every 5 s or so.
struct BROOD_API IterationRecord {
  std::int64_t executions = 0;            // runs that were begun
  std::string cursor;                     // JSON text; empty: none yet
  double run_seconds = 0;                 // of all runs, until the last save
  std::optional<Time> cancelled_at = {};  // somebody has cancelled it
};

// A queue at a glance.
struct BROOD_API QueueSummary {
  std::string name;      // without "queue:"
  std::size_t size = 0;  // jobs that wait
  double latency = 0;    // seconds that the next one has waited
  bool paused = false;   // nobody fetches from it
  bool is_list = true;   // false: its key holds something else, and no job can be pushed to it
};

// The numbers of Sidekiq's dashboard (section 8).
struct BROOD_API Stats {
  std::uint64_t processed = 0, failed = 0;  // since the counters were last reset; failures are among the processed
  std::uint64_t scheduled = 0, retries = 0, dead = 0;  // entries of the three sets
  std::uint64_t enqueued = 0;                          // jobs in all known queues
  std::uint64_t processes = 0;                         // of `processes`
  std::uint64_t busy = 0;                              // jobs that they run
  double default_latency = 0;                          // seconds, of the queue "default"
};

// The runs of one day.
struct BROOD_API DayStats {
  std::string day;                          // YYYY-MM-DD, UTC
  std::uint64_t processed = 0, failed = 0;  // as in Stats
};

// How often a class ran, and for how long (section 5.7).
struct BROOD_API ClassMetrics {
  std::string job_class;                    // `wrapped` of the payload, else `class`
  std::uint64_t processed = 0, failed = 0;  // runs; failures are among the processed
  std::uint64_t milliseconds = 0;           // the time of those that ended well
  double average_seconds() const;           // of these; 0: none
};

// One minute of one class.
struct BROOD_API MinuteMetrics {
  Time minute{};                                              // its beginning
  std::uint64_t processed = 0, failed = 0, milliseconds = 0;  // as in ClassMetrics
  std::vector<std::uint32_t> histogram;  // 26 buckets: runs that ended well, by duration; see histogram_bounds_ms()
};

// The upper bounds of the first 25 buckets, in milliseconds, each exclusive; the last has none (section 5.7).
BROOD_API const std::vector<std::uint32_t>& histogram_bounds_ms();

// Something was deployed: a line in the graphs of Sidekiq's metrics.
struct BROOD_API DeployMark {
  Time at{};          // a whole minute
  std::string label;  // what, such as a commit
};

// A limit of jobs and how much of it is held: what jobs name in a brood::Limiter, or a cap of queues ([limits.NAME] in
// brood.toml).  It is known from its first use on, a limiter until it was not used for its ttl.
struct BROOD_API LimitUsage {
  std::string name;                       // as the code or the configuration gives it
  std::string kind;                       // "cap", "concurrent", "bucket", "window", "leaky" or "points"
  std::int64_t limit = 0;                 // at once, or in the interval
  std::chrono::milliseconds interval{0};  // 0: at once
  std::int64_t held = 0;                  // by jobs that run, or used of the interval
  // Counts of a limiter since its first use or its last reset.
  std::int64_t taken = 0, waited = 0;      // how often
  std::chrono::milliseconds wait_time{0};  // of all that waited
  std::int64_t over = 0;                   // how often a job found it reached for longer than it waits
  std::int64_t reclaimed = 0;              // slots whose holders ended without giving them back
  std::vector<std::string> holders = {};   // of slots and places: "<identity>/<slot>.<incarnation>"
  std::string shard = {};                  // where it is; empty where there is but one Redis
};

// The way to all that lies in one Redis, or in all shards.  It connects at the first call, and anew after a loss.  It
// can be moved, not copied.
class BROOD_API Api {
 public:
  // In a job the Redis of its worker.  Else it is found as `brood run` finds it: the machine's configuration,
  // REDIS_PROVIDER or REDIS_URL, else the embedded one.
  // Throws RedisError where that cannot be read; nothing is asked yet.
  Api();
  // Of redis://, rediss://, unix://, sentinel:// and cluster:// as in brood.toml(5), or "embedded"; a cluster is taken
  // to have 16 shards.  Throws RedisError for what is no such URL.
  explicit Api(const std::string& redis_url);
  ~Api();
  Api(Api&&) noexcept;
  Api& operator=(Api&&) noexcept;

  // The names of the shards, in the order of the configuration; where there is but one Redis, one that may be empty.
  std::vector<std::string> shards() const;
  // One of them, by itself.  std::invalid_argument, with the names that there are, for any other.
  Api shard(std::string_view name) const;
  // Called for each shard that is away when it is asked, and what is asked is then answered by the others.  Without
  // such a function the call throws after the others were asked; so it does when all are away, or the only one.
  void on_away(std::function<void(const std::string& shard, const std::string& why)> left_out);

  std::vector<Queue> queues();                  // all that are known, by name
  Queue queue(std::string name);                // std::invalid_argument for an empty name
  std::vector<QueueSummary> queue_summaries();  // by name, in two round trips

  JobSet scheduled();  // `schedule`
  JobSet retries();    // `retry`
  JobSet dead();       // `dead`
  // To what `dead` is cut when something is added (section 5.6).  Unless said otherwise it is what the machine's
  // configuration says where that names the Redis, else it is not cut: the servers' settings are not known, and they
  // cut it themselves.  max_jobs - 1 are kept, as there.  Throws std::invalid_argument for less than one job or one
  // second.
  void limit_dead(std::int64_t max_jobs, std::chrono::seconds timeout);

  std::vector<Process> processes();  // by identity; forgets those without a heartbeat, as Sidekiq does
  std::optional<Process> process(std::string_view identity);  // nullopt: there is none
  std::string leader();                                       // of Sidekiq Enterprise; empty: none
  // Asks a process to fetch no more, or to end; it follows that with its next heartbeat, within 10 s.  False: no such
  // process, or it is embedded in a program.
  bool quiet(std::string_view identity);
  bool stop(std::string_view identity);
  bool dump(std::string_view identity);  // stacks of what runs, into its log; embedded ones do so too
  std::vector<Work> work();              // the longest-running first

  // The caps, then the limiters, by name, of each shard; with a name, those of that name.
  std::vector<LimitUsage> limits(std::string_view name = {});
  // Nothing of its interval is used from now on, and its counts begin anew; slots and places stay with the jobs that
  // hold them.  False: there is none of that name.
  bool reset_limit(std::string_view name);

  std::optional<IterationRecord> iteration(std::string_view jid);  // nullopt: nothing is known of such a job

  Stats stats();                                 // of now, in two round trips or so
  void reset_stats();                            // processed and failed are 0 again; the days keep theirs
  std::vector<DayStats> history(int days = 30);  // today first; 1 to 1825

  // By the time that they took, the most first; at most 72 hours.  To the minute up to an hour, beyond to ten of them.
  std::vector<ClassMetrics> top_classes(std::chrono::minutes length = std::chrono::hours(1));
  // Every minute, the oldest first, those in which nothing ran too; the last is not over yet.  At most 8 hours.
  std::vector<MinuteMetrics> metrics_of(std::string_view job_class,
                                        std::chrono::minutes length = std::chrono::hours(1));
  // Says that something was deployed; once a minute for each label.  False: that was said already.
  bool mark_deploy(std::string_view label, Time at = std::chrono::system_clock::now());
  // Those of the day (UTC), the earliest first.
  std::vector<DeployMark> deploy_marks(Time day = std::chrono::system_clock::now());

 private:
  friend struct detail::Opening;
  explicit Api(std::shared_ptr<detail::ApiShards> shards);
  std::shared_ptr<detail::ApiShards> shards_;
};

}  // namespace brood
