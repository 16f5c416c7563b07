#include <brood/testing/inline.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "shared/api/push/push_receiver.hpp"
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
      if (!may_begin(job)) continue;
      std::exception_ptr thrown = run(job);
      while (const std::optional<ClientPush> next = take_next()) {
        const std::exception_ptr too = run(*next);
        if (!thrown) thrown = too;
      }
      if (thrown) std::rethrow_exception(thrown);
    }
  }

  bool may_begin(const ClientPush& job) {
    const std::lock_guard lock(mutex);
    if (locks.take(job) == HeldLocks::Taken::refused) return false;
    const HeldLocks::Turn turn = locks.take_turn(job.payload);
    if (turn == HeldLocks::Turn::waits) waiting.push_back(job);
    return turn == HeldLocks::Turn::begins;
  }

  // Returns its exception, so that the jobs after it run nevertheless.
  std::exception_ptr run(const ClientPush& job) try {
    const Ended ended{*this, job.jid};
    runner.run(job.payload, job.queue, job.score ? std::optional(due_at(*job.score)) : std::nullopt);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }

  // Takes a job that was pushed while another held its lock, and that has the lock now.
  std::optional<ClientPush> take_next() {
    const std::lock_guard lock(mutex);
    const auto next = std::find_if(waiting.begin(), waiting.end(), [&](const ClientPush& job) {
      return locks.take_turn(job.payload) == HeldLocks::Turn::begins;
    });
    if (next == waiting.end()) return std::nullopt;
    ClientPush job = std::move(*next);
    waiting.erase(next);
    return job;
  }
  bool cancel(std::string_view, std::optional<double>) override { return false; }
  std::string holder(std::string_view name) override {
    const std::lock_guard lock(mutex);
    return locks.holder(name);
  }
  std::optional<JobReport> find(std::string_view jid) override { return runner.report(jid); }
  std::int64_t cancel_iteration(std::string_view jid, std::int64_t now) override {
    return runner.cancel_iteration(jid, now);
  }

  // Releases the lock however the job ends; pushes of the job meanwhile find it held.
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
  std::vector<ClientPush> waiting;
};

Inline::Inline(Jobs jobs) : state_(std::make_shared<State>(std::move(jobs))) { add_push_receiver(state_); }
Inline::~Inline() { remove_push_receiver(*state_); }

std::optional<JobProgress> Inline::progress(std::string_view jid) const { return state_->runner.progress(jid); }

void Inline::reach_limit(std::string_view limiter) { state_->runner.reach_limit(limiter); }
void Inline::free_limit(std::string_view limiter) { state_->runner.free_limit(limiter); }

}  // namespace brood::testing
