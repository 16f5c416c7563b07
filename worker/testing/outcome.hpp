#pragma once

#include <optional>
#include <string_view>

#include <brood/testing/supervised.hpp>

#include "worker/testing/job_places.hpp"

namespace brood::testing {

// The outcome of a job that was found, by its log lines; nullopt: its last run has not ended.  Pure.
std::optional<Outcome> judge_outcome(const JobPlaces::Found& found, std::string_view jid, std::string_view log);

// The process that runs the job, by the log; nullopt: none does.
std::optional<int> running_in(std::string_view jid, std::string_view log);

}  // namespace brood::testing
