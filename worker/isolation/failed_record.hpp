#pragma once

#include <string_view>

#include "shared/job/payload.hpp"

namespace brood {

// `record` is what the process of a failed job says is to be kept of `job`, which was fetched from `queue`.  Code of
// jobs may have written it: it must be that very job with what a failure adds, none of which is markup to a page.
// Throws BadMessage.  Pure.
void check_failed_record(const Payload& record, const Payload& job, std::string_view queue);

}  // namespace brood
