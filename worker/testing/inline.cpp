#include <brood/testing/inline.hpp>

#include <mutex>
#include <utility>

#include "shared/api/push_receiver.hpp"
#include "worker/testing/held_locks.hpp"
#include "worker/testing/job_runner.hpp"

namespace brood::testing {
namespace {

WallTime due_at(double epoch_seconds) {
  return WallTime(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(epoch_seconds)));
}

}  // namespace

struct Inline::State : PushReceiver {
  explicit State(Jobs jobs) : runner(std::move(jobs)) {}

  void push(std::vector<ClientPush> pushed) override {
    for (const ClientPush& job : pushed) {
      {
        const std::lock_guard lock(mutex);
        if (!locks.take(job)) continue;
        if (ends_at_start(job.payload)) locks.let_go(job.jid);
      }
      const Ended ended{*this, job.jid};
      runner.run(job.payload, job.queue, job.score ? std::optional(due_at(*job.score)) : std::nullopt);
    }
  }
  bool cancel(std::string_view, std::optional<double>) override { return false; }
  std::string holder(std::string_view name) override {
    const std::lock_guard lock(mutex);
    return locks.holder(name);
  }
  std::int64_t cancel_iteration(std::string_view jid, std::int64_t now) override {
    return runner.cancel_iteration(jid, now);
  }

  // However the job ends; what it pushes meanwhile finds its lock.
  struct Ended {
    State& state;
    const std::string& jid;
    ~Ended() {
      const std::lock_guard lock(state.mutex);
      state.locks.let_go(jid);
    }
  };

  JobRunner runner;
  std::mutex mutex;
  HeldLocks locks;
};

Inline::Inline(Jobs jobs) : state_(std::make_shared<State>(std::move(jobs))) { add_push_receiver(state_); }
Inline::~Inline() { remove_push_receiver(*state_); }

void Inline::reach_limit(std::string_view limiter) { state_->runner.reach_limit(limiter); }
void Inline::free_limit(std::string_view limiter) { state_->runner.free_limit(limiter); }

}  // namespace brood::testing
