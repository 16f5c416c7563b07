#pragma once

#include <chrono>
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
#include <brood/options.hpp>
#include <brood/push.hpp>

namespace brood {

// Redis did not take a push: unreachable, or it refused.  After a lost connection the job may or may not be there.
class BROOD_API RedisError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A client's middleware takes in every push.
struct EveryPush {
  constexpr bool takes_in(const Push&) const { return true; }
};

// Called around each push, each of a bulk too, as `void (brood::Push& push, const brood::Next& next)`, before anything
// is checked or sent.  It may change the push, whose jid is made by then.  Whoever does not call next() has stopped the
// push: its jid is returned empty.  What it throws comes out of the call, and nothing is sent.
using ClientMiddleware = Chain<Push, EveryPush>;

// Enqueues jobs, for brood or for a Ruby Sidekiq.
//
//   brood::Client client;
//   client.enqueue(ResizeImage{.path = "cat.png", .width = 320});
//   client.enqueue_in(10min, ResizeImage{...});
//   client.push({.job_class = "Ruby::Job", .args = R"(["any", 1])"});
//
// Every call returns the new job's jid; an empty one where a middleware has stopped the push.  What cannot be a job is
// refused with std::invalid_argument before anything is sent.  A Client may be used by several threads, one call at a
// time: it locks itself.  It connects at the first push, and anew after a loss.
class BROOD_API Client {
 public:
  // Finds Redis as `brood run` does: the machine's configuration, REDIS_PROVIDER or REDIS_URL, else the embedded one.
  Client();
  explicit Client(const std::string& redis_url);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  template <typename Job>
  std::string enqueue(const Job& job) {
    return push(detail::pushed_job(job));
  }

  // After `delay`, which is less than 1,000,000,000 seconds; at once when it is not positive.
  template <typename Number, typename Period, typename Job>
  std::string enqueue_in(std::chrono::duration<Number, Period> delay, const Job& job) {
    return push_in(std::chrono::duration<double>(delay).count(), detail::pushed_job(job));
  }

  // At `time`; at once when that is past.
  template <typename Duration, typename Job>
  std::string enqueue_at(std::chrono::time_point<std::chrono::system_clock, Duration> time, const Job& job) {
    return push_at(std::chrono::duration<double>(time.time_since_epoch()).count(), detail::pushed_job(job));
  }

  // All jobs of a range, with one command for every thousand.  All are checked before the first is sent.
  template <std::ranges::input_range Jobs>
  std::vector<std::string> enqueue_bulk(Jobs&& jobs) {
    std::vector<Push> pushes;
    for (const auto& job : jobs) pushes.push_back(detail::pushed_job(job));
    return push_bulk(pushes);
  }

  // One job by its parts, of any class in any language.
  std::string push(const Push& job);
  std::vector<std::string> push_bulk(const std::vector<Push>& jobs);

  // This client's own chain: made of the default one, later changes of which it does not see.  Pushes of several
  // threads run in it at once, so change it before.
  ClientMiddleware& middleware();
  // Of all clients that this process makes from now on; "carry_context" is in it: see <brood/ambient.hpp>.  Change it
  // before threads make clients.
  static ClientMiddleware& default_middleware();

 private:
  std::string push_in(double seconds, Push job);
  std::string push_at(double epoch_seconds, Push job);

  struct __attribute__((visibility("hidden"))) State;
  std::unique_ptr<State> state_;
};

}  // namespace brood
