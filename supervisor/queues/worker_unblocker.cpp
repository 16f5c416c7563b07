#include "supervisor/queues/worker_unblocker.hpp"

#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto between_attempts = 5ms;
constexpr int most_attempts = 40;  // then a worker that got a byte has given up its connection
constexpr auto between_warnings = 60s;
constexpr auto ask_again_after = 5min;

}  // namespace

void WorkerUnblocker::send(const Attempt& attempt) {
  // A job may have overwritten the record, so the id may be another client's.  Harmless: to that client its wait seems
  // to have timed out.
  redis_.send({"CLIENT", "UNBLOCK", std::to_string(attempt.client)}, short_answer_time,
              [this, attempt](const AsyncConnection::Result& result) {
                if (!result.error.empty()) return;  // without Redis no wait lasts long
                if (!result.ok()) {
                  const ErrorKind kind = classify_error(result.why());
                  if (kind == ErrorKind::unauthorized || kind == ErrorKind::other)
                    refused_until_ = steady_now() + ask_again_after;
                  return report(result.why());
                }
                // The client was not blocked: a job came first, or its wait is still on the way to Redis.
                if (result.reply.view().integer() != 0) return;
                if (attempt.record->waiting_client.load() != attempt.client) return;
                if (attempt.number == most_attempts) {
                  if (in_vain_) in_vain_(*attempt.record);
                  return;
                }
                pending_.push_back({attempt.record, attempt.client, attempt.number + 1});
                if (!next_round_.running()) next_round_.start_in(between_attempts);
              });
}

void WorkerUnblocker::try_again() {
  for (const Attempt& attempt : std::exchange(pending_, {})) {
    if (attempt.record->waiting_client.load() == attempt.client) send(attempt);
  }
}

void WorkerUnblocker::report(const std::string& why) {
  const SteadyTime now = steady_now();
  if (last_report_ != SteadyTime{} && now - last_report_ < between_warnings) return;
  last_report_ = now;
  log::warn("workers_not_unblocked", {{"reason", why}, {"hint", "an idle worker follows its supervisor 250 ms late"}});
}

WorkerUnblocker::WorkerUnblocker(EventLoop& loop, AsyncConnection& redis,
                                 std::function<void(const SlotRecord&)> in_vain)
    : redis_(redis), in_vain_(std::move(in_vain)), next_round_(loop, [this] { try_again(); }) {}

void WorkerUnblocker::unblock(const SlotRecord& record) {
  if (const std::uint64_t client = record.waiting_client.load(); client != 0) send({&record, client, 1});
}

bool WorkerUnblocker::allowed() const { return steady_now() >= refused_until_; }

}  // namespace brood
