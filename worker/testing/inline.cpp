#include <brood/testing/inline.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "shared/api/push/push_receiver.hpp"
#include "worker/testing/batch_book.hpp"
#include "worker/testing/held_locks.hpp"
#include "worker/testing/held_sequences.hpp"
#include "worker/testing/job_runner.hpp"

namespace brood::testing {
namespace {

WallTime due_at(double epoch_seconds) {
  return WallTime(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(epoch_seconds)));
}

}  // namespace

struct Inline::State : PushReceiver {
  explicit State(Jobs jobs)
      : runner(std::move(jobs), [this](std::string_view bid) {
          const std::lock_guard lock(mutex);
          return book.is_cancelled(bid);
        }) {}

  void push(std::vector<ClientPush> pushed) override {
    for (const ClientPush& job : pushed) {
      if (!may_begin(job)) continue;
      if (const std::exception_ptr thrown = run_with_what_follows(job)) std::rethrow_exception(thrown);
    }
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
    for (ClientPush& job : jobs) {
      {
        const std::lock_guard lock(mutex);
        const BatchAnswer answer = book.may_push(bid);
        if (answer != BatchAnswer::ok) return answer;
        if (locks.take(job) == HeldLocks::Taken::refused) continue;
        book.add(bid, job);
        if (!takes_turn(job)) continue;
      }
      hold_back(bid, run_with_what_follows(job));
    }
    return BatchAnswer::ok;
  }
  BatchAnswer push_steps(const std::string& bid, const std::vector<NewStep>& steps) override {
    BatchAnswer answer;
    {
      const std::lock_guard lock(mutex);
      answer = book.add_steps(bid, steps);
    }
    hold_back(bid, run_due());
    return answer;
  }
  BatchAnswer close_batch(const std::string& bid, bool holds) override {
    BatchAnswer answer;
    {
      const std::lock_guard lock(mutex);
      answer = book.close(bid, holds);
    }
    hold_back(bid, run_due());
    const std::lock_guard lock(mutex);
    if (const auto thrown = held_back.extract(bid)) std::rethrow_exception(thrown.mapped());
    return answer;
  }
  void cancel_batch(const std::string& bid) override {
    {
      const std::lock_guard lock(mutex);
      book.cancel(bid);
      held_back.erase(bid);
    }
    if (const std::exception_ptr thrown = run_due()) std::rethrow_exception(thrown);
  }

  // Keeps the first exception of a batch's jobs, which is thrown when the push of the batch ends.
  void hold_back(const std::string& bid, const std::exception_ptr& thrown) {
    const std::lock_guard lock(mutex);
    if (thrown) held_back.try_emplace(bid, thrown);
  }

  bool may_begin(const ClientPush& job) {
    const std::lock_guard lock(mutex);
    return locks.take(job) != HeldLocks::Taken::refused && takes_turn(job);
  }
  bool takes_turn(const ClientPush& job) {
    HeldSequences::Look order(sequences);
    for (const ClientPush& before : waiting) order.allows(before.payload);
    const HeldLocks::Turn turn = order.allows(job.payload) ? locks.take_turn(job.payload) : HeldLocks::Turn::waits;
    if (turn == HeldLocks::Turn::waits) waiting.push_back(job);
    if (turn == HeldLocks::Turn::dropped) book.end(job.payload, JobEnding::done);
    if (turn == HeldLocks::Turn::begins) sequences.begin(job.payload);
    return turn == HeldLocks::Turn::begins;
  }

  // Runs the job, then the jobs that waited for its lock or its sequence, then the due callbacks and steps of batches.
  // Returns the first exception; null: none was thrown.
  std::exception_ptr run_with_what_follows(const ClientPush& job) {
    std::exception_ptr thrown = run(job);
    while (const std::optional<ClientPush> next = take_next()) {
      const std::exception_ptr too = run(*next);
      if (!thrown) thrown = too;
    }
    const std::exception_ptr too = run_due();
    return thrown ? thrown : too;
  }

  // Runs the due callbacks and steps of batches, and those that become due by them.
  std::exception_ptr run_due() {
    std::exception_ptr thrown;
    for (std::deque<ClientPush> due;; due.pop_front()) {
      {
        const std::lock_guard lock(mutex);
        for (ClientPush& job : book.take_due()) due.push_back(std::move(job));
      }
      if (due.empty()) return thrown;
      const std::exception_ptr too = run(due.front());
      if (!thrown) thrown = too;
    }
  }

  // Runs the job and returns its exception, so that the jobs after it still run.  No job is retried: a job that threw
  // is dead.
  std::exception_ptr run(const ClientPush& job) {
    Ran ran{.ending = JobEnding::done};
    if (!is_skipped(job)) {
      try {
        ran = runner.run(job.payload, job.queue, job.score ? std::optional(due_at(*job.score)) : std::nullopt);
      } catch (...) {
        ran = {.ending = JobEnding::gone, .thrown = std::current_exception()};
      }
    }
    const std::lock_guard lock(mutex);
    locks.let_go(job.jid);
    const JobEnding ending = ran.ending == JobEnding::done ? JobEnding::done : JobEnding::gone;
    sequences.end(job.payload, ending);
    book.end(job.payload, ending);
    return ran.thrown;
  }
  bool is_skipped(const ClientPush& job) {
    const std::lock_guard lock(mutex);
    return book.skips(job.payload);
  }

  // Takes a job that was pushed while another job held its lock or its sequence, and that holds both now.
  std::optional<ClientPush> take_next() {
    const std::lock_guard lock(mutex);
    HeldSequences::Look order(sequences);
    const auto next = std::find_if(waiting.begin(), waiting.end(), [&](const ClientPush& job) {
      return order.allows(job.payload) && locks.take_turn(job.payload) == HeldLocks::Turn::begins;
    });
    if (next == waiting.end()) return std::nullopt;
    ClientPush job = std::move(*next);
    waiting.erase(next);
    sequences.begin(job.payload);
    return job;
  }
  bool cancel(std::string_view, std::optional<double>) override { return false; }
  std::string holder(std::string_view name) override {
    const std::lock_guard lock(mutex);
    return locks.holder(name);
  }
  std::optional<JobReport> find(std::string_view jid) override {
    if (auto report = runner.report(jid)) return report;
    const std::lock_guard lock(mutex);
    return book.report_of_step(jid);
  }
  std::int64_t cancel_iteration(std::string_view jid, std::int64_t now) override {
    return runner.cancel_iteration(jid, now);
  }

  JobRunner runner;
  std::mutex mutex;
  HeldLocks locks;
  HeldSequences sequences;
  std::vector<ClientPush> waiting;
  BatchBook book;
  std::map<std::string, std::exception_ptr> held_back;  // by bid
};

Inline::Inline(Jobs jobs) : state_(std::make_shared<State>(std::move(jobs))) { add_push_receiver(state_); }
Inline::~Inline() { remove_push_receiver(*state_); }

std::optional<JobProgress> Inline::progress(std::string_view jid) const { return state_->runner.progress(jid); }

void Inline::reach_limit(std::string_view limiter) { state_->runner.reach_limit(limiter); }
void Inline::free_limit(std::string_view limiter) { state_->runner.free_limit(limiter); }

}  // namespace brood::testing
