#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/config/config.hpp"
#include "shared/errors/error_report.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/store/outcome.hpp"

namespace brood {

// The supervisor whose job has failed.
struct FailureSource {
  std::string identity, host;
  std::string worker;           // as worker_field() names it
  std::int64_t generation = 0;  // of the worker's configuration; 0: not known
};

// The report of a failure that is settled by `outcome`, as [on_error] wants it; nullopt: it wants none.  Encrypted
// arguments are never in it in clear: the payload has them encrypted, and in the reported arguments the last one is
// "[encrypted data]".
std::optional<ErrorReport> report_failure(const Config& config, const FailureSource& source, const Payload& job,
                                          std::string_view queue, const Failure& failure, const Outcome& outcome);

}  // namespace brood
