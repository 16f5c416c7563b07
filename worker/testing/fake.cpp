#include <brood/testing/fake.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "shared/api/push/push_receiver.hpp"
#include "worker/testing/held_locks.hpp"
#include "worker/testing/job_runner.hpp"

namespace brood::testing {
namespace {

using Clock = std::chrono::system_clock;

// Two spellings of one time differ by less than this.
constexpr std::chrono::microseconds spelling{1};

Clock::time_point time_of(double epoch_seconds) {
  return Clock::time_point(std::chrono::round<Clock::duration>(std::chrono::duration<double>(epoch_seconds)));
}

FakeJob fake_job(const ClientPush& push) {
  FakeJob job{JobRecord::read(push.payload)};
  if (push.score) job.at = time_of(*push.score);
  return job;
}

}  // namespace

struct Fake::State : PushReceiver {
  explicit State(Jobs jobs) : runner(std::move(jobs)) {}

  void push(std::vector<ClientPush> pushed) override {
    const std::lock_guard lock(mutex);
    for (const ClientPush& one : pushed) {
      if (locks.take(one) == HeldLocks::Taken::yes)
        waiting.push_back(fake_job(one));
      else if (one.lock->on_conflict == OnConflict::replace && *one.lock->holder != one.jid)
        replace_holder(one);
    }
  }

  // If several have its jid, the one that a client would find in Redis: a scheduled one, else the newest.
  std::vector<FakeJob>::iterator find_holder(const ClientPush::Lock& lock) {
    auto found = waiting.end();
    for (auto job = waiting.begin(); job != waiting.end(); ++job) {
      if (job->jid != *lock.holder || job->member("unique_lock") != '"' + lock.name + '"') continue;
      found = job;
      if (job->at) break;
    }
    return found;
  }

  // One that runs is not there any more, and is not replaced.  One that waits in a queue keeps its place in it.
  void replace_holder(const ClientPush& push) {
    const auto holder = find_holder(*push.lock);
    if (holder == waiting.end()) return;
    FakeJob job = fake_job(push);
    if (holder->at || job.at) {
      waiting.erase(holder);
      waiting.push_back(std::move(job));
    } else {
      *holder = std::move(job);
    }
    locks.hand_over(push);
  }

  bool cancel(std::string_view jid, std::optional<double> time) override {
    const std::lock_guard lock(mutex);
    const bool cancelled =
        std::erase_if(waiting, [&](const FakeJob& job) {
          return job.at && job.jid == jid && (!time || std::chrono::abs(*job.at - time_of(*time)) <= spelling);
        }) > 0;
    if (cancelled) locks.let_go(jid);
    return cancelled;
  }

  std::string holder(std::string_view name) override {
    const std::lock_guard lock(mutex);
    return locks.holder(name);
  }
  std::optional<JobReport> find(std::string_view jid) override {
    {
      const std::lock_guard lock(mutex);
      const auto job = std::find_if(waiting.begin(), waiting.end(), [&](const FakeJob& one) { return one.jid == jid; });
      if (job != waiting.end())
        return JobReport{.jid = job->jid, .state = job->at ? JobState::scheduled : JobState::queued};
    }
    return runner.report(jid);
  }
  // No job ends while another waits here: this test performs them.
  std::optional<JobReport> wait(std::string_view jid, std::chrono::milliseconds) override { return runner.report(jid); }
  std::int64_t cancel_iteration(std::string_view jid, std::int64_t now) override {
    return runner.cancel_iteration(jid, now);
  }

  template <typename Wanted>
  std::vector<FakeJob> those(Wanted wanted) {
    const std::lock_guard lock(mutex);
    std::vector<FakeJob> found;
    std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(found), wanted);
    return found;
  }

  // Nothing is locked while it runs: the job may push.
  enum class Taken { none, performed, not_performed };
  template <typename Wanted>
  Taken take_first(Wanted wanted) {
    std::optional<FakeJob> job;
    {
      const std::lock_guard lock(mutex);
      HeldLocks::Turn turn = HeldLocks::Turn::waits;
      const auto first = std::find_if(waiting.begin(), waiting.end(), [&](const FakeJob& one) {
        return wanted(one) && (turn = locks.take_turn(one.payload)) != HeldLocks::Turn::waits;
      });
      if (first == waiting.end()) return Taken::none;
      job = std::move(*first);
      waiting.erase(first);
      if (turn == HeldLocks::Turn::dropped) return Taken::not_performed;
    }
    const Ended ended{*this, job->jid};
    const bool ran = runner.run(job->payload, job->queue, job->at ? std::optional(WallTime(*job->at)) : std::nullopt);
    return ran ? Taken::performed : Taken::not_performed;
  }
  template <typename Wanted>
  std::size_t drain(Wanted wanted) {
    std::size_t performed = 0;
    for (Taken taken; (taken = take_first(wanted)) != Taken::none;) performed += taken == Taken::performed ? 1 : 0;
    return performed;
  }

  // However the job ends.
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
  std::vector<FakeJob> waiting;
};

Fake::Fake(Jobs jobs) : state_(std::make_shared<State>(std::move(jobs))) { add_push_receiver(state_); }
Fake::~Fake() { remove_push_receiver(*state_); }

std::vector<FakeJob> Fake::jobs() const {
  return state_->those([](const FakeJob&) { return true; });
}
std::vector<FakeJob> Fake::jobs_in(std::string_view queue) const {
  return state_->those([&](const FakeJob& job) { return job.queue == queue; });
}
std::vector<FakeJob> Fake::jobs_of(std::string_view job_class) const {
  return state_->those([&](const FakeJob& job) { return job.job_class == job_class; });
}
std::optional<FakeJob> Fake::find(std::string_view jid) const {
  std::vector<FakeJob> found = state_->those([&](const FakeJob& job) { return job.jid == jid; });
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}
std::size_t Fake::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting.size();
}

void Fake::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->waiting.clear();
  state_->locks = {};
  state_->runner.forget_iterations();
}

std::size_t Fake::drain() {
  return state_->drain([](const FakeJob&) { return true; });
}
std::size_t Fake::drain(std::string_view queue) {
  return state_->drain([&](const FakeJob& job) { return job.queue == queue; });
}
bool Fake::perform_one() {
  return state_->take_first([](const FakeJob&) { return true; }) != State::Taken::none;
}

std::optional<JobProgress> Fake::progress(std::string_view jid) const { return state_->runner.progress(jid); }

void Fake::reach_limit(std::string_view limiter) { state_->runner.reach_limit(limiter); }
void Fake::free_limit(std::string_view limiter) { state_->runner.free_limit(limiter); }

}  // namespace brood::testing
