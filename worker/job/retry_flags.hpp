#pragma once

#include <cstdint>
#include <optional>

#include "shared/job/retry_decision.hpp"

namespace brood {

// The option `retry` of a job class, as bits in the flags of a worker's record.  The recovery of a worker, which has no
// library, takes the option from there for a job whose payload has none.
std::uint32_t flags_of_retry(const std::optional<RetryOption>& retry);
std::optional<RetryOption> retry_of_flags(std::uint32_t flags);  // nullopt: the class was not known

}  // namespace brood
