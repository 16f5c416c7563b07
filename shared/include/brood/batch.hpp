#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/client.hpp>
#include <brood/context.hpp>
#include <brood/detail/current_call.hpp>
#include <brood/detail/pushed_job.hpp>
#include <brood/enqueue_options.hpp>
#include <brood/push.hpp>

namespace brood {

// The events at which a batch pushes its callbacks.  Each event fires once.
enum class BatchEvent {
  complete,  // every job has been attempted at least once; retries may still run
  success,   // every job has succeeded; skipped and expired jobs count as succeeded
  death,     // the first job has died; a deleted job counts as dead
  finished,  // every job has ended: it has succeeded or died
};

// The options of a batch.
struct BatchOptions {
  std::string description = {};  // for operators, at most 1,000 bytes
  // The bid of a batch that waits for this one.  Its callbacks of complete, success and finished are pushed after those
  // of the same event of this one have run; a dead one holds up success alone.  It must not have ended, and at most 32
  // batches may be nested.  Empty: no batch waits for this one.
  std::string parent = {};
};

// The jobs of one Batch::push().  They are sent a thousand at a time.
class BROOD_API BatchJobs {
 public:
  BatchJobs(const BatchJobs&) = delete;
  BatchJobs& operator=(const BatchJobs&) = delete;

  // Enqueues a job, as Client::enqueue() does.  Returns the jid; empty if a middleware has stopped the push.  A unique
  // job whose lock another job holds is neither pushed nor counted.  Throws std::invalid_argument as Client does, and
  // for OnConflict::replace; RedisError if Redis does not take the slice that the job completes; BatchClosed if the
  // batch was cancelled or deleted meanwhile.
  template <typename Job>
  std::string enqueue(const Job& job, const EnqueueOptions& options = {}) {
    return push(detail::pushed_job(job, options), options.spread);
  }
  // Enqueues a job, as Client::enqueue_in() does.
  template <typename Number, typename Period, typename Job>
  std::string enqueue_in(std::chrono::duration<Number, Period> delay, const Job& job,
                         const EnqueueOptions& options = {}) {
    if (delay <= delay.zero()) return enqueue(job, options);
    return push_in(std::chrono::duration<double>(delay).count(), detail::unspread_job(job, options, has_its_time));
  }
  // Enqueues a job, as Client::enqueue_at() does.
  template <typename Duration, typename Job>
  std::string enqueue_at(std::chrono::time_point<std::chrono::system_clock, Duration> time, const Job& job,
                         const EnqueueOptions& options = {}) {
    Push push = detail::unspread_job(job, options, has_its_time);
    push.at = std::chrono::time_point_cast<std::chrono::system_clock::duration>(time);
    return this->push(std::move(push));
  }
  // Enqueues all jobs of a range, of which at most a slice is in memory.  Returns their number.
  template <std::ranges::input_range Jobs>
  std::size_t enqueue_bulk(Jobs&& jobs, const EnqueueOptions& options = {}) {
    std::size_t count = 0;
    for (const auto& job : jobs) {
      if (!options.jid.empty() && count > 0) throw std::invalid_argument("a jid is for one job");
      enqueue(job, options);
      ++count;
    }
    return count;
  }
  // Enqueues a job given by its parts, as Client::push() does.  Its members must not be `bid` or `batch_index`, which
  // the batch sets.
  std::string push(Push job);

 private:
  friend class Batch;
  struct __attribute__((visibility("hidden"))) State;
  explicit BatchJobs(State& state) : state_(&state) {}
  std::string push(Push job, std::optional<std::chrono::milliseconds> spread);
  std::string push_in(double seconds, Push job);

  static constexpr const char* has_its_time = "a job that has its time cannot be spread";
  State* state_;
};

// The batch accepts no more jobs: it was cancelled, has ended, was deleted, or has expired.
class BROOD_API BatchClosed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Jobs that are counted together.  A batch has callbacks for the events that all of its jobs were attempted, have
// succeeded or have ended, or that one has died.
//
//   brood::Client client;
//   brood::Batch batch(client, {.description = "import 7"});
//   batch.on(brood::BatchEvent::success, NotifyUser{.user = 7});
//   batch.on(brood::BatchEvent::death, brood::Push{.job_class = "Ruby::Alarm", .args = "[7]"});
//   batch.push([&](brood::BatchJobs& jobs) {
//     for (const auto& row : rows) jobs.enqueue(ImportRow{row});
//   });
//
// A callback is an ordinary job with the arguments that were passed to on().  Its payload has `cbid`, the bid, and
// `batch_callback`, the event.  No callback is pushed before push() has returned.  Each end of a job is counted in the
// step that settles the job, so no crash loses a count or counts twice; a job that runs twice counts once.  A dead job
// that is retried, from any page, and succeeds does not count as dead any more.
//
// All jobs of a batch are on one shard, which the batch chooses when it is made: shard_by is ignored.  With several
// shards neither a unique job nor a job of a sequence may be in a batch, since its lock or its sequence may be on
// another shard.
//
// A batch is kept for 30 days after the last push into it, for a day after its success, and for dead_timeout after a
// death.  Two threads may not use one Batch at the same time.
class BROOD_API Batch {
 public:
  // Makes a batch; it does not connect yet.  The client must outlive the batch.  If the process of a job is killed
  // during the push() of a batch with a parent, the batch is cancelled when the job ends.
  explicit Batch(Client& client, const BatchOptions& options = {})
      : Batch(client, options, detail::current_payload()) {}
  // Returns the batch of this job, to add more jobs; nullopt: the job is in none.  It uses a Client of the process
  // unless one is given.
  static std::optional<Batch> current(const Context& job) { return current(job.payload(), nullptr); }
  static std::optional<Batch> current(const Context& job, Client& client) { return current(job.payload(), &client); }
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  // The id of the batch: 14 characters of A-Z a-z 0-9 - _.  It is known before the first push().
  const std::string& bid() const;

  // Adds a callback; an event may have any number of them.  Throws std::invalid_argument as a push does, or if the
  // callback has a time or a spread; std::logic_error after the first push().
  template <typename Job>
  requires(!std::same_as<Job, Push>) void on(BatchEvent event, const Job& job, const EnqueueOptions& options = {}) {
    on(event, detail::unspread_job(job, options, "a callback is pushed when its event happens, and cannot be spread"));
  }
  // The same for a callback given by its parts.
  void on(BatchEvent event, const Push& job);

  // Calls `fill` with a BatchJobs&, and returns when all of its jobs are in Redis.  If `fill` or a push throws, the
  // batch is cancelled, unless it is the current job's own, and the exception is thrown on.  It may be called again
  // until the batch has ended.  A push without any job fires the events at once.  Throws RedisError, or BatchClosed.
  template <std::invocable<BatchJobs&> Fill>
  void push(Fill&& fill) {
    Pushing pushing(*this);
    BatchJobs jobs = pushing.jobs();
    fill(jobs);
    pushing.finish();
  }

  // Cancels the batch.  Jobs that have not begun are skipped, batch_cancelled() returns true in running ones, and only
  // the event `finished` fires.  It does nothing if the batch has ended or no job was pushed.
  void cancel();

 private:
  friend class BatchJobs;
  struct __attribute__((visibility("hidden"))) State;
  class BROOD_API Pushing {
   public:
    explicit Pushing(Batch& batch);
    ~Pushing();
    Pushing(const Pushing&) = delete;
    Pushing& operator=(const Pushing&) = delete;
    BatchJobs jobs();
    void finish();

   private:
    std::unique_ptr<BatchJobs::State> jobs_;
  };

  static std::optional<Batch> current(std::string_view payload, Client* client);
  Batch(Client& client, const BatchOptions& options, std::string_view payload_of_job);
  explicit Batch(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace brood
