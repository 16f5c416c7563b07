#include <brood/testing/inline.hpp>

#include <utility>

#include "shared/api/push_receiver.hpp"
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
    for (const ClientPush& job : pushed)
      runner.run(job.payload, job.queue, job.score ? std::optional(due_at(*job.score)) : std::nullopt);
  }
  bool cancel(std::string_view, std::optional<double>) override { return false; }
  std::int64_t cancel_iteration(std::string_view jid, std::int64_t now) override {
    return runner.cancel_iteration(jid, now);
  }

  JobRunner runner;
};

Inline::Inline(Jobs jobs) : state_(std::make_shared<State>(std::move(jobs))) { add_push_receiver(state_); }
Inline::~Inline() { remove_push_receiver(*state_); }

void Inline::reach_limit(std::string_view limiter) { state_->runner.reach_limit(limiter); }
void Inline::free_limit(std::string_view limiter) { state_->runner.free_limit(limiter); }

}  // namespace brood::testing
