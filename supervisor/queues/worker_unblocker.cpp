#include "supervisor/queues/worker_unblocker.hpp"

#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto between_attempts = 5ms;
constexpr int most_attempts = 40;  // by then the worker has given its connection up
constexpr auto between_warnings = 60s;
constexpr auto ask_again_after = 5min;

}  // namespace

struct WorkerUnblocker::State : std::enable_shared_from_this<State> {
  // A worker that said it waits when Redis did not know of it yet.
  struct Attempt {
    const SlotRecord* record;
    std::uint64_t client;
    int number;
  };

  State(EventLoop& loop, AsyncConnection& connection) : redis(connection), next_round(loop, [this] { try_again(); }) {}

  AsyncConnection& redis;
  Timer next_round;
  std::vector<Attempt> pending;
  SteadyTime last_report{}, refused_until{};

  void send(const Attempt& attempt);
  void try_again();
  void report(const std::string& why);
};

void WorkerUnblocker::State::send(const Attempt& attempt) {
  // The client may be somebody else's, should a job have scribbled over its record: to whoever it is, its wait has
  // merely timed out.
  redis.send({"CLIENT", "UNBLOCK", std::to_string(attempt.client)}, short_answer_time,
             [weak = weak_from_this(), attempt](AsyncConnection::Result result) {
               const auto self = weak.lock();
               if (!self || !result.error.empty()) return;  // with Redis away nobody waits there for long
               if (!result.ok()) {
                 const ErrorKind kind = classify_error(result.why());
                 if (kind == ErrorKind::unauthorized || kind == ErrorKind::other)
                   self->refused_until = steady_now() + ask_again_after;
                 return self->report(result.why());
               }
               // Not blocked: a job came first, or the wait is still on its way to Redis.
               if (result.reply.view().integer() != 0 || attempt.number == most_attempts) return;
               if (attempt.record->waiting_client.load() != attempt.client) return;
               self->pending.push_back({attempt.record, attempt.client, attempt.number + 1});
               if (!self->next_round.running()) self->next_round.start_in(between_attempts);
             });
}

void WorkerUnblocker::State::try_again() {
  for (const Attempt& attempt : std::exchange(pending, {})) {
    if (attempt.record->waiting_client.load() == attempt.client) send(attempt);
  }
}

void WorkerUnblocker::State::report(const std::string& why) {
  const SteadyTime now = steady_now();
  if (last_report != SteadyTime{} && now - last_report < between_warnings) return;
  last_report = now;
  log::warn("workers_not_unblocked", {{"reason", why}, {"hint", "an idle worker follows its supervisor 250 ms late"}});
}

WorkerUnblocker::WorkerUnblocker(EventLoop& loop, AsyncConnection& redis)
    : state_(std::make_shared<State>(loop, redis)) {}

WorkerUnblocker::~WorkerUnblocker() { state_->next_round.stop(); }

void WorkerUnblocker::unblock(const SlotRecord& record) {
  if (const std::uint64_t client = record.waiting_client.load(); client != 0) state_->send({&record, client, 1});
}

bool WorkerUnblocker::allowed() const { return steady_now() >= state_->refused_until; }

}  // namespace brood
