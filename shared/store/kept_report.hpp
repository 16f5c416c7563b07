#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include <brood/report.hpp>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/outcome.hpp"

namespace brood {

// The report of a job lies in a list of one element, brood:report:<jid>, from the script that ends the job until it
// expires.  A list, so that a program waits for it by BLMOVE of the list onto itself: that leaves it where it is, for
// the next one who waits.

// Each job that keeps one has this in its text.
inline constexpr std::string_view mark_of_report = "\"keep_result\"";

// Adds the report of a job that ends with this outcome; null: it is deleted.  Nothing for a job that keeps none.
void append_report(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, const Outcome* outcome);

// Adds the result of a step of a flow that has succeeded, for the steps after it.
void append_step_result(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, const Outcome& outcome);

Command ask_report(std::string_view jid);
// The same, but waits until there is one.
Command wait_for_report(std::string_view jid, std::chrono::milliseconds longest);
std::optional<JobReport> read_kept_report(ReplyView reply);  // nullopt: there is none

}  // namespace brood
