#pragma once

#include <optional>
#include <string_view>

#include <brood/testing/supervised.hpp>

#include "worker/testing/job_places.hpp"

namespace brood::testing {

// Returns the outcome of a job that was found, by its place and its log lines.  nullopt: its last run has not ended.
// Pure.
std::optional<Outcome> judge_outcome(const JobPlaces::Found& found, std::string_view jid, std::string_view log);

// Returns the pid of the process that runs the job, by the log; nullopt: none runs it.
std::optional<int> running_in(std::string_view jid, std::string_view log);

}  // namespace brood::testing
