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

namespace brood {

namespace detail {
struct Opening;
}

// Redis did not take a push, or did not answer another call: unreachable, or it refused; what() has its address and its
// words.  After a lost connection the job may or may not be there.  Also where nobody can tell where Redis is: a URL or
// a configuration that cannot be read.
class BROOD_API RedisError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Redis is away, and the client's buffer has no room for what was to be pushed.
class BROOD_API BufferFull : public RedisError {
 public:
  using RedisError::RedisError;
};

// The push is in Redis, of many jobs all of them, but not so many replicas as redis.wait asks for have confirmed it in
// time.  It is lost if the master fails before they have it; pushing it again may double it.  A client with a buffer
// keeps such a push, and sends it again until it is confirmed, which doubles nothing: there this is not thrown.
class BROOD_API NotConfirmed : public RedisError {
 public:
  using RedisError::RedisError;
};

// What Client::buffer() keeps, and for how long at the end.
struct BufferOptions {
  std::size_t max_jobs = 1000;             // 1 at least; beyond, a push throws BufferFull
  std::chrono::milliseconds at_end{2000};  // how long the client's destructor tries to push what still waits
};

// A client's middleware takes in every push.
struct EveryPush {
  constexpr bool takes_in(const Push&) const { return true; }  // whatever it is
};

// Called around each push, each of a bulk too, as `void (brood::Push& push, const brood::Next& next)`, before anything
// is checked or sent.  It may change the push, whose jid is made by then.  Whoever does not call next() has stopped the
// push: its jid is returned empty.  What it throws comes out of the call, and nothing is sent.
using ClientMiddleware = Chain<Push, EveryPush>;

// Enqueues jobs, for brood or for a Ruby Sidekiq.
//
//   brood::Client client;
//   client.enqueue(ResizeImage{.path = "cat.png", .width = 320});
//   client.enqueue(ResizeImage{...}, {.queue = "low", .retry = 3});
//   client.enqueue_in(10min, ResizeImage{...});
//   client.push({.job_class = "Ruby::Job", .args = R"(["any", 1])"});
//
// Where several Redis hold jobs ([[redis.shard]] in brood.toml(5)), each job goes to one of these shards: those with
// the same shard_by to the same one, others to the next one that answers, of a bulk slice after slice.  Nothing is sent
// twice for that: a shard that cannot be reached is passed over and tried again later; one that took a push and did not
// answer makes it fail.  In a job the next one is the job's own shard, as long as that answers.  Nothing goes to a
// shard that is drained (drain in brood.toml(5)).
//
//   client.enqueue(Invoice{...}, {.shard_by = "tenant-7"});
//
// Of the shards' names the one goes whose SHA-1 of "NAME:SHARD_BY" is the greatest: with one shard more, only the jobs
// that go to that one go elsewhere than before.
//
// Every call returns the new job's jid; an empty one where a middleware has stopped the push, or where it is a unique
// job and another one like it holds its lock.  What cannot be a job is
// refused with std::invalid_argument before anything is sent (section 1.4 of Sidekiq's wire specification); whatever
// Redis does not take throws RedisError.  A Client may be used by several threads, one call at a time: it locks itself.
// It connects at the first push, anew after a loss, and anew in a child that was forked.  It can be moved, not copied.
class BROOD_API Client {
 public:
  // In a job the Redis of its worker.  Else it is found as `brood run` finds it: the machine's configuration,
  // REDIS_PROVIDER or REDIS_URL, else the embedded one; where there are several shards, all of them.
  // Throws RedisError where that cannot be read; nothing is sent yet.
  Client();
  // Of redis://, rediss://, unix://, sentinel:// and cluster:// as in brood.toml(5), or "embedded"; a cluster is taken
  // to have 16 shards.  Throws RedisError for what is no such URL.
  explicit Client(const std::string& redis_url);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // Now.  `job` is a struct as in <brood/job.hpp>; its program needs no perform() of it, only the declaration.
  template <typename Job>
  std::string enqueue(const Job& job, const EnqueueOptions& options = {}) {
    return push_bulk({detail::pushed_job(job, options)}, bulk_options(options)).front();
  }

  // After `delay`, which is less than 1,000,000,000 seconds, else std::invalid_argument; at once when it is not
  // positive.  It counts from what the clock of Redis says, whatever this host's does.
  template <typename Number, typename Period, typename Job>
  std::string enqueue_in(std::chrono::duration<Number, Period> delay, const Job& job,
                         const EnqueueOptions& options = {}) {
    return push_in(std::chrono::duration<double>(delay).count(), detail::pushed_job(job, options),
                   bulk_options(options));
  }

  // At `time`, which is before the year 2255, else std::invalid_argument; at once when it is past.
  template <typename Duration, typename Job>
  std::string enqueue_at(std::chrono::time_point<std::chrono::system_clock, Duration> time, const Job& job,
                         const EnqueueOptions& options = {}) {
    Push push = detail::pushed_job(job, options);
    push.at = due(epoch_seconds(time));
    return push_bulk({std::move(push)}, bulk_options(options)).front();
  }

  // All jobs of a range, a thousand with one command: it goes through the range as it pushes, and holds no more than a
  // slice of it.  A slice is checked before any of it is sent; returns the jids, in the order of the range.  What is
  // refused in the midst, by Redis or as no job, says how many were pushed before.  With several shards a slice goes to
  // one of them, and the next slice to the next one: jobs keep their order within a slice, and with shard_by all do.
  template <std::ranges::input_range Jobs>
  std::vector<std::string> enqueue_bulk(Jobs&& jobs, const EnqueueOptions& options = {}) {
    return push_slices(std::forward<Jobs>(jobs), options, [](Push&) {});
  }

  // All at `time`; at once when it is past.
  template <typename Duration, std::ranges::input_range Jobs>
  std::vector<std::string> enqueue_bulk_at(std::chrono::time_point<std::chrono::system_clock, Duration> time,
                                           Jobs&& jobs, const EnqueueOptions& options = {}) {
    const auto at = due(epoch_seconds(time));
    return push_slices(std::forward<Jobs>(jobs), options, [&](Push& push) { push.at = at; });
  }
  // Each at its own of as many `times`, else std::invalid_argument; those whose time is past at once.
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

  // One job by its parts, of any class in any language.
  std::string push(const Push& job);
  // Many of them; in the order of `jobs`, as enqueue_bulk().
  std::vector<std::string> push_bulk(std::vector<Push> jobs, const BulkOptions& options = {});

  // The jid of the job that holds the lock of a unique job like this one, pushed with these options; empty: none does.
  template <typename Job>
  std::string holder(const Job& job, const EnqueueOptions& options = {}) {
    return holder_of(detail::pushed_job(job, options));
  }

  // Takes a job out of the schedule, or out of what buffer() keeps and has not tried to push: true, and it does not
  // run; false: it is not there, or not any more.  Looks through the whole schedule, page by page.
  bool cancel(std::string_view jid);
  // Likewise, but looks only at what is scheduled for `time`.
  template <typename Duration>
  bool cancel(std::string_view jid, std::chrono::time_point<std::chrono::system_clock, Duration> time) {
    return cancel_at(jid, epoch_seconds(time));
  }

  // Keeps pushes in memory, in order, while Redis is away or too full to write; they return their jids as ever, and are
  // pushed with the next push that finds it back, by drain(), or by the destructor.  Each is pushed once, also where
  // the connection was lost before Redis had answered: a number that goes with it tells (the key
  // `brood:pushes:<client>`).  Where there is no room for all of a push it throws BufferFull.  What is kept is lost
  // when the process dies.  While Redis is away at most half of a program's time goes into trying.  Say so before the
  // first push; std::invalid_argument for a buffer without room.  Each of several shards has such a buffer of its own;
  // a push without shard_by is kept only while none answers.
  void buffer(const BufferOptions& options = {});
  std::size_t buffered() const;  // jobs that are kept, 0 without buffer()
  // Pushes what is kept, and tries for `longest` while Redis is away.  Returns how many are left.  Throws RedisError
  // for those that Redis has refused for good, such as a queue whose key is no list: they stay, and hold up no others.
  std::size_t drain(std::chrono::milliseconds longest = std::chrono::seconds(5));

  // Ends an iterable job for good (<brood/iteration.hpp>; section 5.8), of brood or of a Ruby Sidekiq: at its next
  // flush when it runs, some 5 s later, else when it begins.  Returns when it was first cancelled, to the second.
  // Nobody says whether there is such a job; for 30 days the next of this jid would be cancelled.
  std::chrono::system_clock::time_point cancel_iteration(std::string_view jid);

  // This client's own chain: made of the default one, later changes of which it does not see.  Pushes of several
  // threads run in it at once, so change it before.
  ClientMiddleware& middleware();
  // Of all clients that this process makes from now on; "carry_context" is in it: see <brood/ambient.hpp>.  Change it
  // before threads make clients.
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
  // `finish` does the rest to each push.
  template <typename Jobs, typename Finish>
  std::vector<std::string> push_slices(Jobs&& jobs, const EnqueueOptions& options, Finish finish) {
    const std::size_t size = options.batch_size > 1'000 ? options.batch_size : 1'000;
    std::vector<std::string> jids;
    std::vector<Push> slice;
    std::size_t done = 0;
    std::optional<NotConfirmed> unconfirmed;  // those are pushed, and the others are to be
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
