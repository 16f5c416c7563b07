#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/api.hpp>
#include <brood/report.hpp>
#include <brood/testing/jobs.hpp>

namespace brood::testing {

// A job as it was pushed: jid, queue, job_class, args (JSON), payload and the other members of JobRecord.
struct BROOD_API FakeJob : JobRecord {
  std::optional<std::chrono::system_clock::time_point> at = {};  // its time in the schedule; nullopt: it is in a queue

  // Returns the job's arguments as a struct.  Throws ArgumentError if they do not fit its fields.
  template <typename Job>
  __attribute__((visibility("hidden"))) Job as() const {
    return brood::detail::read_arguments<Job>(brood::detail::wire_name<Job>(), args);
  }
};

// Further conditions of Fake::was_enqueued().  An empty condition is always true.
struct EnqueuedTo {
  std::optional<std::string> queue = {};                         // without "queue:"
  std::optional<std::chrono::milliseconds> in = {};              // delay after the push, to within a second
  std::optional<std::chrono::system_clock::time_point> at = {};  // to within a second
};

// A batch or flow (<brood/batch.hpp>) whose jobs a Fake has collected: total = succeeded + pending + dead.
struct BROOD_API FakeBatch {
  // The state of the batch.
  enum class State {
    open,       // a push into it has not returned
    running,    // some jobs were not performed yet
    complete,   // all jobs were performed, and some wait for a retry; or its success waits for that of a child
    success,    // all jobs have succeeded
    finished,   // all jobs have ended, and some are dead, of the batch or of a child
    cancelled,  // it was cancelled
  };
  std::string bid;            // as Batch::bid()
  std::string description;    // as BatchOptions::description
  std::string parent;         // the bid of its parent; empty: it has none
  State state = State::open;  // its present state
  std::size_t total = 0;      // number of its jobs
  std::size_t succeeded = 0;  // jobs that have succeeded or were skipped
  std::size_t pending = 0;    // jobs that have not ended
  std::size_t failing = 0;    // pending jobs that have thrown
  std::size_t dead = 0;       // jobs that have died or were deleted
};

// While a Fake exists, it collects the pushes of all brood::Clients of this process, from any thread.  No Redis is
// needed.
//
//   brood::testing::Fake fake(brood::testing::Jobs::of<ResizeImage>());
//   shop.take_order(order);                                       // calls client.enqueue(ResizeImage{...})
//   check(fake.jobs_of<ResizeImage>().at(0).width == 320);
//   check(fake.jobs().at(0).queue == "images");
//   fake.drain();                                                 // performs them
//
// A push is otherwise as usual: options, checks, the client's middleware, the jid.  client.cancel removes a scheduled
// job from the Fake.  client.find and client.wait return the waiting jobs and the reports of those that were performed.
// client.cancel_iteration ends an iterable job at its next run.  client.buffer does nothing.  brood::Api, which reads
// Redis, throws RedisError.  brood::Periodic keeps its rules in the Fake, and they have no ticks.  The locks of unique
// jobs are kept as Redis keeps them, each OnConflict has its effect, and a lock ends unique_for after its push.  A job
// that has to wait for a lock is performed once the lock is free.
//
// The jobs of batches and flows are counted as Redis counts them.  A callback is pushed to the Fake once its event is
// due, a step once the steps before it have ended:
//
//   shop.import(rows);                                            // pushes a batch with a callback
//   fake.drain("rows");
//   check(fake.batches().at(0).succeeded == rows.size());
//   check(fake.was_enqueued(NotifyUser{.user = 7}));              // the callback of its success
//
// If there are several Fakes and Inlines, the one made last gets the pushes.  A forked child has a copy: its pushes
// stay in the child.
class BROOD_API Fake {
 public:
  // With `jobs` the Fake can perform the pushed jobs.  Without, a test can only inspect them.
  explicit Fake(Jobs jobs = {});
  ~Fake();
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;

  // Return the waiting jobs in the order of their pushes: all, those of one queue, those of one class; one job
  // (nullopt: it does not wait here); and their number.
  std::vector<FakeJob> jobs() const;
  std::vector<FakeJob> jobs_in(std::string_view queue) const;
  std::vector<FakeJob> jobs_of(std::string_view job_class) const;
  std::optional<FakeJob> find(std::string_view jid) const;
  std::size_t size() const;

  // Returns the waiting jobs of one class as structs, read from their JSON.  Throws ArgumentError if they do not fit.
  template <typename Job>
  __attribute__((visibility("hidden"))) std::vector<Job> jobs_of() const {
    std::vector<Job> jobs;
    for (const FakeJob& job : jobs_of(brood::detail::wire_name<Job>())) jobs.push_back(job.template as<Job>());
    return jobs;
  }

  // Returns whether a job of this class waits with these arguments, compared as values.
  //
  //   check(fake.was_enqueued(ResizeImage{.path = "cat.png", .width = 320}, {.queue = "images", .in = 10min}));
  template <typename Job>
  __attribute__((visibility("hidden"))) bool was_enqueued(const Job& job, const EnqueuedTo& to = {}) const {
    const std::string args = brood::detail::write_arguments(job);
    for (const FakeJob& one : jobs_of(brood::detail::wire_name<Job>())) {
      if (is_at(one, to) && has_arguments<Job>(one, args)) return true;
    }
    return false;
  }

  // Return the batches in the order of their first pushes; the batch with this bid (nullopt: there is none).
  std::vector<FakeBatch> batches() const;
  std::optional<FakeBatch> find_batch(std::string_view bid) const;

  // Return the jobs that have thrown, with the members of their failure: those with retries left or Interrupted, and
  // the dead ones.  The steps of a flow that wait for a dead step are dead too (DependencyFailed).
  std::vector<FakeJob> retries() const;
  std::vector<FakeJob> dead() const;
  // Moves a job from retries() or dead() to the waiting jobs, as a retry on the web page does.  Returns false if it is
  // in neither.
  bool retry(std::string_view jid);
  // Moves a waiting job, or a job of retries(), to dead().  Returns false if it is in neither.
  bool kill(std::string_view jid);

  void clear();  // removes all jobs and batches, and the progress of iterable jobs

  // Performs the waiting jobs, and the jobs that they push, until none is left, of all queues or of one.  Scheduled
  // jobs are performed too, whatever their time.  Each runs on this thread as in a worker: from its payload's text,
  // within server middleware, with a Context that has jid, queue and attempt, no timeout, and a stopping() that is
  // always false.  Its log lines go to standard error.  An iterable job runs until all its items are done.  Returns
  // the number of jobs that were performed.
  //
  // It throws the exception of a job: the same exception if the job is compiled into the test, else a JobFailed.
  // Interrupted is thrown too.  Then that job does not wait any more, and the others stay.  No job is retried by
  // itself.  A job that threw is in retries() or dead(), or is not kept, as its options `retry` and `dead` decide.  An
  // iterable job that threw continues from its cursor after retry(), or when it is pushed again with its jid.
  //
  // A job of a cancelled batch is removed and not counted.  A job that has expired, or will have at its time, is
  // removed and not counted: its on_expired hook is called, and the hook's exception is thrown.  A job that is dropped
  // since another like it runs (UniqueUntil::running) is removed too, without a hook.  A class that `jobs` does not
  // have throws std::invalid_argument; its message is a sentence.
  std::size_t drain();
  std::size_t drain(std::string_view queue);
  bool perform_one();  // performs the oldest job; returns false if there is none

  // Returns the progress that the job reported by job.progress() in its last run; nullopt if it reported none.
  std::optional<JobProgress> progress(std::string_view jid) const;

  // Limiters never wait in a Fake.  After reach_limit() the limiter of this name is reached for the jobs that are
  // performed, until free_limit().  So a test can check their behaviour over the limit.
  void reach_limit(std::string_view limiter);
  void free_limit(std::string_view limiter);

 private:
  template <typename Job>
  __attribute__((visibility("hidden"))) static bool has_arguments(const FakeJob& job, const std::string& args) {
    try {
      return brood::detail::write_arguments(job.template as<Job>()) == args;
    } catch (const ArgumentError&) {
      return false;
    }
  }
  __attribute__((visibility("hidden"))) static bool is_at(const FakeJob& job, const EnqueuedTo& to) {
    using std::chrono::seconds;
    if (to.queue && job.queue != *to.queue) return false;
    if (to.at && (!job.at || std::chrono::abs(*job.at - *to.at) > seconds(1))) return false;
    if (!to.in) return true;
    return job.at && job.created_at && std::chrono::abs(*job.at - *job.created_at - *to.in) <= seconds(1);
  }

  struct __attribute__((visibility("hidden"))) State;
  std::shared_ptr<State> state_;
};

}  // namespace brood::testing
