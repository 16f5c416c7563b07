#include "worker/recovery/recovery_process.hpp"

#include <sysexits.h>

#include <chrono>

#include "shared/base/log.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

Connection connection_for_recovery(const RedisAddress& redis) {
  constexpr std::chrono::seconds longest(2);
  return {redis, {longest, longest}, "brood-recovery"};
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
