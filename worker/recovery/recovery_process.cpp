#include "worker/recovery/recovery_process.hpp"

#include <sysexits.h>

#include <chrono>

#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

namespace {

constexpr std::chrono::seconds longest(2);
// As many bytes as the slowest line moves in 10 s, twice the time for which the progress may stand still.
constexpr std::uint64_t bytes_of_a_step = 10 * Pace::slowest;

}  // namespace

RecoveryConnection::RecoveryConnection(const RedisAddress& redis, std::atomic<std::uint64_t>* progress)
    : Connection(redis, {longest, longest}, "brood-recovery"), progress_(progress) {
  count_bytes_in(progress);
}

Reply RecoveryConnection::call(const Command& command) {
  Reply reply = Connection::call(command);
  step_done();
  return reply;
}

std::vector<Reply> RecoveryConnection::call_patiently(const std::vector<Command>& commands, const Patience& patience) {
  std::vector<Reply> replies = Connection::call_patiently(commands, patience);
  step_done();
  return replies;
}

std::vector<Reply> RecoveryConnection::pipeline(const std::vector<Command>& commands) {
  std::vector<Reply> replies = Connection::pipeline(commands);
  step_done();
  return replies;
}

void RecoveryConnection::step_done() const {
  if (progress_ != nullptr) progress_->fetch_add(bytes_of_a_step);
}

int end_of_recovery(const std::function<void()>& work) try {
  work();
  return EX_OK;
} catch (const ConnectionLost& lost) {
  log::debug("autopsy_lost_redis", {{"reason", lost.what()}});
  return EX_TEMPFAIL;
} catch (const UnexpectedReply& refused) {
  log::warn("recovery_refused", {{"reason", refused.what()}});
  return EX_TEMPFAIL;
} catch (const LibraryError& error) {
  log::error("library_refused", {{"reason", error.what()}});
  return EX_CONFIG;
}

}  // namespace brood
