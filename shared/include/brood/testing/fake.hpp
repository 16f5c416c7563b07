#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/api.hpp>
#include <brood/testing/jobs.hpp>

namespace brood::testing {

// A job as it was pushed: jid, queue, job_class, args (JSON), payload and what else JobRecord has of it.
struct BROOD_API FakeJob : JobRecord {
  std::optional<std::chrono::system_clock::time_point> at = {};  // scheduled for; nullopt: for now

  // The arguments as the struct's fields.  Throws ArgumentError where they do not fit.
  template <typename Job>
  __attribute__((visibility("hidden"))) Job as() const {
    return brood::detail::read_arguments<Job>(brood::detail::wire_name<Job>(), args);
  }
};

// Where and when Fake::was_enqueued() looks; what is empty may be anything.
struct EnqueuedTo {
  std::optional<std::string> queue = {};                         // its bare name
  std::optional<std::chrono::milliseconds> in = {};              // after the push, within a second
  std::optional<std::chrono::system_clock::time_point> at = {};  // within a second
};

// While it lives, what every brood::Client of this process pushes is collected here, from any thread, and no Redis is
// needed.
//
//   brood::testing::Fake fake(brood::testing::Jobs::of<ResizeImage>());
//   shop.take_order(order);                                       // calls client.enqueue(ResizeImage{...})
//   check(fake.jobs_of<ResizeImage>().at(0).width == 320);
//   check(fake.jobs().at(0).queue == "images");
//   fake.drain();                                                 // performs them
//
// All else of a push is as ever: options, the checks, the client's middleware, the jid.  client.cancel takes a job out
// of here if it is scheduled, client.cancel_iteration ends an iterable job at its next run, client.buffer has nothing
// to do; brood::Api, which shows Redis, throws RedisError.  The locks of unique jobs are kept as Redis keeps them, each
// OnConflict does what it does there, and a lock ends unique_for after its push.  A job that has to wait for one is
// performed once that is free.  Of several the innermost, the last that was made, gets the pushes, of an Inline too.  A
// child that was forked has a copy: what it pushes stays in the child.
class BROOD_API Fake {
 public:
  // With these it can perform what is pushed; without, only be looked at.
  explicit Fake(Jobs jobs = {});
  ~Fake();
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;

  // What waits, in the order of the pushes: all, of one queue, of one class.
  std::vector<FakeJob> jobs() const;
  std::vector<FakeJob> jobs_in(std::string_view queue) const;
  std::vector<FakeJob> jobs_of(std::string_view job_class) const;
  std::optional<FakeJob> find(std::string_view jid) const;
  std::size_t size() const;

  // Those of one class as structs, read back from their JSON.  Throws ArgumentError where they do not fit.
  template <typename Job>
  __attribute__((visibility("hidden"))) std::vector<Job> jobs_of() const {
    std::vector<Job> jobs;
    for (const FakeJob& job : jobs_of(brood::detail::wire_name<Job>())) jobs.push_back(job.template as<Job>());
    return jobs;
  }

  // Whether a job of this class waits here with these arguments, whatever its push was spelled like.
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

  void clear();  // forgets them, and how far iterable ones have come

  // Performs what waits, and what that pushes, until nothing is left, of all queues or of one; those that are scheduled
  // too, whatever their time.  Each runs on this thread as in a worker: from its payload's text, within server
  // middleware, with a Context that knows jid, queue and attempt, has no timeout and is never stopping(); what it logs
  // goes to standard error.  An iterable job goes on until all its items are done.  Returns how many were performed.
  //
  // What a job throws comes out, as the same exception where the job is compiled into the test, else as JobFailed;
  // Interrupted too.  That job is gone and the others stay; nothing is retried.  An iterable one that threw goes on
  // from its cursor when it is pushed again with its jid.  One that has expired, or will have at its time, is gone too,
  // uncounted: its on_expired hook is called instead, and what that throws comes out.  So is one that is dropped since
  // another like it runs (UniqueUntil::running), without a hook.  A class that the Jobs do not have is a
  // std::invalid_argument with a sentence.
  std::size_t drain();
  std::size_t drain(std::string_view queue);
  bool perform_one();  // the oldest; false: there was none

  // Limiters keep nobody waiting here.  One of this name is reached for the jobs that are performed from now on, until
  // it is free again: what they do then is what is to be tested.
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
