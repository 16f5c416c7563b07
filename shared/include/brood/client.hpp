#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <brood/chain.hpp>
#include <brood/detail/pushed_job.hpp>
#include <brood/enqueue_options.hpp>
#include <brood/options.hpp>
#include <brood/push.hpp>
#include <brood/report.hpp>

namespace brood {

namespace detail {
struct Opening;
}

// A push or another call failed: Redis could not be reached, or refused it.  what() has the address and Redis' error
// message.  After a lost connection the job may or may not be in Redis.  It is also thrown if the address of Redis
// cannot be determined: a URL or a configuration that cannot be read.
class BROOD_API RedisError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Redis is away, and the client's buffer has no room for the push.
class BROOD_API BufferFull : public RedisError {
 public:
  using RedisError::RedisError;
};

// All jobs of the push are in Redis, but fewer replicas than redis.wait requires have confirmed it in time.  The push
// is lost if the master fails before they have it.  Another push of the jobs may double them.  A client with a buffer
// does not throw this: it keeps the push and sends it again until it is confirmed, which doubles no job.
class BROOD_API NotConfirmed : public RedisError {
 public:
  using RedisError::RedisError;
};

// The options of Client::buffer().
struct BufferOptions {
  std::size_t max_jobs = 1000;             // at least 1; a push for which there is no room throws BufferFull
  std::chrono::milliseconds at_end{2000};  // how long the client's destructor tries to push the kept jobs
};

// A client's middleware is called for every push.
struct EveryPush {
  constexpr bool takes_in(const Push&) const { return true; }  // always true
};

// The middleware of a client.  It is called around each push, and each push of a bulk, as
// `void (brood::Push& push, const brood::Next& next)`, before the push is checked or sent.  It may change the push,
// which has its jid already.  If it does not call next(), the push is stopped: the call returns an empty jid for it.
// An exception of the middleware is thrown by the call, and no job is sent.
using ClientMiddleware = Chain<Push, EveryPush>;

// Enqueues jobs, for brood or for a Ruby Sidekiq.
//
//   brood::Client client;
//   client.enqueue(ResizeImage{.path = "cat.png", .width = 320});
//   client.enqueue(ResizeImage{...}, {.queue = "low", .retry = 3});
//   client.enqueue_in(10min, ResizeImage{...});
//   client.push({.job_class = "Ruby::Job", .args = R"(["any", 1])"});
//
// If several Redis servers hold jobs ([[redis.shard]] in brood.toml(5)), each job goes to one of these shards.  Jobs
// with the same shard_by go to the same shard.  The others go to the next shard that answers, a bulk slice by slice.
// No job is sent twice: a shard that cannot be reached is passed over and tried again later, and if a shard took a push
// and did not answer, the push fails.  In a job the next shard is the job's own, as long as that answers.  A drained
// shard (drain in brood.toml(5)) gets no jobs.
//
//   client.enqueue(Invoice{...}, {.shard_by = "tenant-7"});
//
// shard_by chooses the shard whose name gives the greatest SHA-1 of "NAME:SHARD_BY".  If a shard is added, only the
// jobs that go to it move.
//
// Every call that pushes one job returns its jid.  The jid is empty if a middleware has stopped the push, or if the job
// is unique and another job like it holds its lock.  An invalid job (section 1.4 of Sidekiq's wire specification)
// throws std::invalid_argument before it is sent.  If Redis does not take a job, the call throws RedisError.
//
// Several threads may use one Client, one call at a time: it locks itself.  It connects at the first push, again after
// a loss, and again in a forked child.  It can be moved, not copied.
class BROOD_API Client {
 public:
  // A client of the worker's Redis in a job.  Elsewhere it finds Redis as `brood run` does: by the machine's
  // configuration, REDIS_PROVIDER or REDIS_URL, else the embedded one.  If there are several shards, it uses all of
  // them.  Throws RedisError if the configuration cannot be read.  It does not connect yet.
  Client();
  // `redis_url` is a redis://, rediss://, unix://, sentinel:// or cluster:// URL as in brood.toml(5), or "embedded".
  // A cluster is assumed to have 16 shards.  For TLS the variables BROOD_REDIS_TLS_CA, _CERT, _KEY, _SERVER_NAME,
  // _MIN_VERSION and _VERIFY have the settings of [redis.tls].  Throws RedisError for any other text.
  explicit Client(const std::string& redis_url);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // Enqueues a job to run now.  `job` is a struct as in <brood/job.hpp>; the program needs only the declaration of
  // perform().
  template <typename Job>
  std::string enqueue(const Job& job, const EnqueueOptions& options = {}) {
    return push_bulk({detail::pushed_job(job, options)}, bulk_options(options)).front();
  }

  // Enqueues a job to run after `delay`, counted by the clock of Redis.  A delay that is not positive means now.
  // Throws std::invalid_argument for 1,000,000,000 seconds or more.
  template <typename Number, typename Period, typename Job>
  std::string enqueue_in(std::chrono::duration<Number, Period> delay, const Job& job,
                         const EnqueueOptions& options = {}) {
    return push_in(std::chrono::duration<double>(delay).count(), detail::pushed_job(job, options),
                   bulk_options(options));
  }

  // Enqueues a job to run at `time`; a time in the past means now.  Throws std::invalid_argument from the year 2255
  // on.
  template <typename Duration, typename Job>
  std::string enqueue_at(std::chrono::time_point<std::chrono::system_clock, Duration> time, const Job& job,
                         const EnqueueOptions& options = {}) {
    Push push = detail::pushed_job(job, options);
    push.at = due(epoch_seconds(time));
    return push_bulk({std::move(push)}, bulk_options(options)).front();
  }

  // Enqueues all jobs of a range, in slices of a thousand that one command pushes.  At most one slice is in memory.
  // All jobs of a slice are checked before it is sent.  Returns the jids in the order of the range.  If Redis refuses a
  // slice, or a job is invalid, the exception's message has the number of jobs pushed before.  With several shards a
  // slice goes to one of them, and the next slice to the next one: jobs keep their order within a slice, and with
  // shard_by within the range.
  template <std::ranges::input_range Jobs>
  std::vector<std::string> enqueue_bulk(Jobs&& jobs, const EnqueueOptions& options = {}) {
    return push_slices(std::forward<Jobs>(jobs), options, [](Push&) {});
  }

  // The same for jobs that run at `time`; a time in the past means now.
  template <typename Duration, std::ranges::input_range Jobs>
  std::vector<std::string> enqueue_bulk_at(std::chrono::time_point<std::chrono::system_clock, Duration> time,
                                           Jobs&& jobs, const EnqueueOptions& options = {}) {
    const auto at = due(epoch_seconds(time));
    return push_slices(std::forward<Jobs>(jobs), options, [&](Push& push) { push.at = at; });
  }
  // The same for jobs with a time each; a time in the past means now.  Throws std::invalid_argument unless there are
  // as many `times` as jobs.
  template <std::ranges::input_range Times, std::ranges::input_range Jobs>
  std::vector<std::string> enqueue_bulk_at(Times&& times, Jobs&& jobs, const EnqueueOptions& options = {}) {
    const auto check = [](bool holds) {
      if (!holds) throw std::invalid_argument("a bulk has as many times as jobs");
    };
    std::vector<std::optional<std::chrono::system_clock::time_point>> due_at;
    for (const auto& time : times) due_at.push_back(due(epoch_seconds(time)));
    if constexpr (std::ranges::forward_range<Jobs>)
      check(static_cast<std::size_t>(std::ranges::distance(jobs)) == due_at.size());
    std::size_t given = 0;
    std::vector<std::string> jids = push_slices(std::forward<Jobs>(jobs), options, [&](Push& push) {
      check(given < due_at.size());
      push.at = due_at[given++];
    });
    check(given == due_at.size());
    return jids;
  }

  // Enqueues one job given by its parts, of any class in any language.
  std::string push(const Push& job);
  // The same for many jobs.  Returns their jids in the order of `jobs`.  It throws as enqueue_bulk() does.
  std::vector<std::string> push_bulk(std::vector<Push> jobs, const BulkOptions& options = {});

  // Returns the jid of the job that holds the lock of a unique job like this one, pushed with these options.  Empty: no
  // job holds the lock.
  template <typename Job>
  std::string holder(const Job& job, const EnqueueOptions& options = {}) {
    return holder_of(detail::pushed_job(job, options));
  }

  // Removes a job from the schedule, or from the pushes that buffer() keeps and has not tried to send.  Returns true if
  // the job was removed and does not run, false if it is not there.  It reads the whole schedule, page by page.
  bool cancel(std::string_view jid);
  // The same, but it reads only the jobs scheduled for `time`.
  template <typename Duration>
  bool cancel(std::string_view jid, std::chrono::time_point<std::chrono::system_clock, Duration> time) {
    return cancel_at(jid, epoch_seconds(time));
  }

  // Keeps pushes in memory, in order, while Redis is away or too full to write.  The calls return jids as usual.  The
  // pushes are sent with the next push that reaches Redis, by drain(), or by the destructor.  Each is pushed once, even
  // if the connection was lost before Redis answered: Redis notes the number of the push (key `brood:pushes:<client>`).
  // A push that does not fit as a whole throws BufferFull.  Kept pushes are lost when the process dies.  While Redis is
  // away at most half of a program's time is spent on trying.  Each of several shards has a buffer of its own; a push
  // without shard_by is kept only while no shard answers.  Call it before the first push.  Throws std::invalid_argument
  // if max_jobs is 0.
  void buffer(const BufferOptions& options = {});
  std::size_t buffered() const;  // number of jobs kept; 0 without buffer()
  // Pushes the kept jobs, and tries for up to `longest` while Redis is away.  Returns the number of jobs that are still
  // kept.  Throws RedisError if Redis has refused some of them for good, such as for a queue whose key is not a list.
  // These stay, and the others are pushed.
  std::size_t drain(std::chrono::milliseconds longest = std::chrono::seconds(5));

  // Ends an iterable job for good (<brood/iteration.hpp>; section 5.8), of brood or of a Ruby Sidekiq.  A running job
  // ends at its next flush, by default within 5 s; any other job when it begins.  Returns the time at which the job was
  // first cancelled, to the second.  It does not check whether the job exists: for 30 days a job with this jid would be
  // cancelled.
  std::chrono::system_clock::time_point cancel_iteration(std::string_view jid);

  // Returns the state of a job, and its result if it keeps a report (`keep_result`).  nullopt: the job is not in Redis
  // any more, or never was.  Without a report it searches all jobs in Redis.  It asks all shards.
  std::optional<JobReport> find(std::string_view jid);
  // Waits until a job with `keep_result` has succeeded or died, and returns its report.  Returns nullopt at the
  // timeout, also for a job that keeps no report.  Returns at once if the job has ended.  It blocks in Redis on a
  // connection of its own, without polling.  If there are several shards, it first searches them for the job and then
  // waits in the job's shard.  A loss of the connection does not end the wait.  Throws RedisError if Redis is away at
  // the timeout.
  std::optional<JobReport> wait(std::string_view jid, std::chrono::milliseconds timeout);

  // This client's own chain.  It begins as a copy of the default chain at the moment when the client was made.  Pushes
  // of several threads run in it at the same time, so change it before the first push.
  ClientMiddleware& middleware();
  // The chain of all clients that this process makes from now on.  It contains "carry_context": see
  // <brood/ambient.hpp>.  Change it before threads make clients.
  static ClientMiddleware& default_middleware();

 private:
  friend struct detail::Opening;
  template <typename Duration>
  static double epoch_seconds(std::chrono::time_point<std::chrono::system_clock, Duration> time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  }
  static BulkOptions bulk_options(const EnqueueOptions& options) {
    return {.spread = options.spread, .batch_size = options.batch_size};
  }
  // `finish` completes each push, such as by its time.
  template <typename Jobs, typename Finish>
  std::vector<std::string> push_slices(Jobs&& jobs, const EnqueueOptions& options, Finish finish) {
    const std::size_t size = options.batch_size > 1'000 ? options.batch_size : 1'000;
    std::vector<std::string> jids;
    std::vector<Push> slice;
    std::size_t done = 0;
    std::optional<NotConfirmed> unconfirmed;  // its jobs are pushed, so the next slices follow
    const auto push_slice = [&] {
      const std::size_t count = slice.size();
      try {
        std::vector<std::string> pushed = push_bulk(std::exchange(slice, {}), bulk_options(options));
        for (std::string& jid : pushed) jids.push_back(std::move(jid));
      } catch (const NotConfirmed& error) {
        unconfirmed = error;
      }
      done += count;
    };
    try {
      for (const auto& job : jobs) {
        if (slice.size() == size) push_slice();
        slice.push_back(detail::pushed_job(job, options));
        finish(slice.back());
        if (!options.jid.empty() && done + slice.size() > 1) throw std::invalid_argument("a jid is for one job");
      }
      push_slice();
    } catch (const BufferFull& error) {
      if (done == 0) throw;
      throw BufferFull(error.what() + before_these(done, unconfirmed.has_value()));
    } catch (const RedisError& error) {
      if (done == 0) throw;
      throw RedisError(error.what() + before_these(done, unconfirmed.has_value()));
    } catch (const std::invalid_argument& error) {
      if (done == 0) throw;
      throw std::invalid_argument(error.what() + before_these(done, unconfirmed.has_value()));
    }
    if (unconfirmed) throw *unconfirmed;
    return jids;
  }
  static std::string before_these(std::size_t jobs, bool unconfirmed) {
    return "; the " + std::to_string(jobs) + " jobs before these were pushed" +
           (unconfirmed ? ", and replicas have not confirmed all of them" : "");
  }

  static std::optional<std::chrono::system_clock::time_point> due(double epoch_seconds);
  std::string push_in(double seconds, Push job, const BulkOptions& options);
  bool cancel_at(std::string_view jid, double epoch_seconds);
  std::string holder_of(const Push& job);

  struct __attribute__((visibility("hidden"))) State;
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace brood
