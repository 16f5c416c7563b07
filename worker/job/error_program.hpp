#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "shared/config/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"

namespace brood {

// The input of a program that handles failures: one JSON object with class, jid, queue, error_class, error_message,
// backtrace, retry_count as it will be, crash where the attempt ended its worker, and job, the payload as it was.
std::string error_report(const Payload& job, std::string_view queue, const Failure& failure);

// Executes the program with that report on its standard input and waits for its end.  Kills it when its time is over.
// A failure of this is only logged.  Calls `still_waits`, if there is one, at least once a second while it waits.
void tell_error_program(const CommandSettings& program, const Payload& job, std::string_view queue,
                        const Failure& failure, const std::function<void()>& still_waits = {});

}  // namespace brood
