#include <brood/testing/fake.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>

#include "shared/api/push/push_receiver.hpp"
#include "worker/testing/batch_book.hpp"
#include "worker/testing/held_locks.hpp"
#include "worker/testing/held_sequences.hpp"
#include "worker/testing/job_runner.hpp"

namespace brood::testing {
namespace {

using Clock = std::chrono::system_clock;

// Two times that differ by at most this count as equal, since they may have been rounded differently.
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
  explicit State(Jobs jobs)
      : runner(std::move(jobs), [this](std::string_view bid) {
          const std::lock_guard lock(mutex);
          return book.is_cancelled(bid);
        }) {}

  void push(std::vector<ClientPush> pushed) override {
    const std::lock_guard lock(mutex);
    for (const ClientPush& one : pushed) {
      if (locks.take(one) == HeldLocks::Taken::yes)
        waiting.push_back(fake_job(one));
      else if (one.lock->on_conflict == OnConflict::replace && *one.lock->holder != one.jid)
        replace_holder(one);
    }
  }

  // Finds the waiting job that holds the lock.  If several jobs have its jid, it is the one that a client would find in
  // Redis: a scheduled job, else the newest.
  std::vector<FakeJob>::iterator find_holder(const ClientPush::Lock& lock) {
    auto found = waiting.end();
    for (auto job = waiting.begin(); job != waiting.end(); ++job) {
      if (job->jid != *lock.holder || job->member("unique_lock") != '"' + lock.name + '"') continue;
      found = job;
      if (job->at) break;
    }
    return found;
  }

  // Replaces the holder of the lock by the pushed job.  A holder that runs does not wait any more, so it is not
  // replaced.  The job that replaces one in a queue gets its place there.
  void replace_holder(const ClientPush& push) {
    const auto holder = find_holder(*push.lock);
    if (holder == waiting.end()) return;
    end(holder->payload, JobEnding::done);
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
    const auto is_wanted = [&](const FakeJob& job) {
      return job.at && job.jid == jid && (!time || std::chrono::abs(*job.at - time_of(*time)) <= spelling);
    };
    const std::vector<FakeJob> removed = take_those(waiting, is_wanted);
    for (const FakeJob& job : removed) end(job.payload, JobEnding::gone);
    const bool cancelled = !removed.empty();
    if (cancelled) locks.let_go(jid);
    return cancelled;
  }

  BatchAnswer open_batch(const NewBatch& batch) override {
    const std::lock_guard lock(mutex);
    return book.open(batch);
  }
  BatchAnswer reopen_batch(const std::string& bid) override {
    const std::lock_guard lock(mutex);
    return book.reopen(bid);
  }
  BatchAnswer push_to_batch(const std::string& bid, std::vector<ClientPush> jobs) override {
    const std::lock_guard lock(mutex);
    const BatchAnswer answer = book.may_push(bid);
    if (answer != BatchAnswer::ok) return answer;
    for (ClientPush& job : jobs) {
      if (locks.take(job) != HeldLocks::Taken::yes) continue;
      book.add(bid, job);
      waiting.push_back(fake_job(job));
    }
    return BatchAnswer::ok;
  }
  BatchAnswer push_steps(const std::string& bid, const std::vector<NewStep>& steps) override {
    const std::lock_guard lock(mutex);
    const BatchAnswer answer = book.add_steps(bid, steps);
    push_due();
    return answer;
  }
  BatchAnswer close_batch(const std::string& bid, bool holds) override {
    const std::lock_guard lock(mutex);
    const BatchAnswer answer = book.close(bid, holds);
    push_due();
    return answer;
  }
  void cancel_batch(const std::string& bid) override {
    const std::lock_guard lock(mutex);
    book.cancel(bid);
    push_due();
  }
  // Pushes the due callbacks and steps of batches.
  void push_due() {
    for (const ClientPush& job : book.take_due()) waiting.push_back(fake_job(job));
  }
  void end(std::string_view payload, JobEnding ending) {
    sequences.end(payload, ending);
    book.end(payload, ending);
    push_due();
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
    if (auto report = runner.report(jid)) return report;
    const std::lock_guard lock(mutex);
    return book.report_of_step(jid);
  }
  // Returns at once: no job ends meanwhile, since the test itself performs the jobs.
  std::optional<JobReport> wait(std::string_view jid, std::chrono::milliseconds) override {
    if (auto report = runner.report(jid)) return report;
    const std::lock_guard lock(mutex);
    auto step = book.report_of_step(jid);
    return step && step->state != JobState::queued ? step : std::nullopt;
  }
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
  // Removes and returns the jobs for which `wanted` returns true.
  template <typename Wanted>
  static std::vector<FakeJob> take_those(std::vector<FakeJob>& jobs, Wanted wanted) {
    const auto first = std::stable_partition(jobs.begin(), jobs.end(), std::not_fn(wanted));
    std::vector<FakeJob> taken(std::make_move_iterator(first), std::make_move_iterator(jobs.end()));
    jobs.erase(first, jobs.end());
    return taken;
  }
  // Removes and returns the first of `jobs` with that jid; nullopt: there is none.
  static std::optional<FakeJob> take_job(std::vector<FakeJob>& jobs, std::string_view jid) {
    const auto found = std::find_if(jobs.begin(), jobs.end(), [&](const FakeJob& job) { return job.jid == jid; });
    if (found == jobs.end()) return std::nullopt;
    FakeJob job = std::move(*found);
    jobs.erase(found);
    return job;
  }

  bool retry(std::string_view jid) {
    const std::lock_guard lock(mutex);
    std::optional<FakeJob> job = take_job(failed, jid);
    if (!job) job = take_job(dead, jid);
    if (!job) {
      if (const auto step = book.take_failed_step(jid)) job = FakeJob{JobRecord::read(*step)};
    }
    if (job) waiting.push_back(*std::move(job));
    return job.has_value();
  }
  bool kill(std::string_view jid) {
    const std::lock_guard lock(mutex);
    std::optional<FakeJob> job = take_job(waiting, jid);
    if (!job) job = take_job(failed, jid);
    if (!job) return false;
    job->at.reset();
    locks.let_go(jid);
    const std::string payload = job->payload;
    dead.push_back(*std::move(job));
    end(payload, JobEnding::gone);
    return true;
  }

  // Takes and performs the first job that is wanted and may begin.  The mutex is not held while the job runs, since the
  // job may push.
  enum class Taken { none, performed, not_performed };
  template <typename Wanted>
  Taken take_first(Wanted wanted) {
    std::optional<FakeJob> job;
    {
      const std::lock_guard lock(mutex);
      HeldLocks::Turn turn = HeldLocks::Turn::waits;
      HeldSequences::Look order(sequences);
      const auto first = std::find_if(waiting.begin(), waiting.end(), [&](const FakeJob& one) {
        return order.allows(one.payload) && wanted(one) &&
               (turn = locks.take_turn(one.payload)) != HeldLocks::Turn::waits;
      });
      if (first == waiting.end()) return Taken::none;
      job = std::move(*first);
      waiting.erase(first);
      if (turn == HeldLocks::Turn::dropped || book.skips(job->payload)) {
        if (turn == HeldLocks::Turn::begins) locks.let_go(job->jid);
        end(job->payload, JobEnding::done);
        return Taken::not_performed;
      }
      sequences.begin(job->payload);
    }
    const Ran ran = runner.run(job->payload, job->queue, job->at ? std::optional(WallTime(*job->at)) : std::nullopt);
    settle(*job, ran);
    if (ran.thrown) std::rethrow_exception(ran.thrown);
    return ran.performed ? Taken::performed : Taken::not_performed;
  }
  template <typename Wanted>
  std::size_t drain(Wanted wanted) {
    std::size_t performed = 0;
    for (Taken taken; (taken = take_first(wanted)) != Taken::none;) performed += taken == Taken::performed ? 1 : 0;
    return performed;
  }

  void settle(const FakeJob& job, const Ran& ran) {
    const std::lock_guard lock(mutex);
    locks.let_go(job.jid);
    if (!ran.record.empty())
      (ran.ending == JobEnding::failed ? failed : dead).push_back(FakeJob{JobRecord::read(ran.record)});
    if (ran.ending)
      end(job.payload, *ran.ending);
    else
      failed.push_back(job);
  }

  JobRunner runner;
  std::mutex mutex;
  HeldLocks locks;
  HeldSequences sequences;
  std::vector<FakeJob> waiting, failed, dead;
  BatchBook book;
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

std::vector<FakeBatch> Fake::batches() const {
  const std::lock_guard lock(state_->mutex);
  return state_->book.batches();
}
std::optional<FakeBatch> Fake::find_batch(std::string_view bid) const {
  for (FakeBatch& batch : batches())
    if (batch.bid == bid) return std::move(batch);
  return std::nullopt;
}
std::vector<FakeJob> Fake::retries() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failed;
}
std::vector<FakeJob> Fake::dead() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<FakeJob> dead = state_->dead;
  for (const std::string& step : state_->book.failed_steps()) dead.push_back(FakeJob{JobRecord::read(step)});
  return dead;
}
bool Fake::retry(std::string_view jid) { return state_->retry(jid); }
bool Fake::kill(std::string_view jid) { return state_->kill(jid); }

void Fake::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->waiting.clear();
  state_->failed.clear();
  state_->dead.clear();
  state_->book = {};
  state_->locks = {};
  state_->sequences = {};
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
