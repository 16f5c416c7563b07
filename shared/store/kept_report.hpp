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
// expires.  It is a list so that a program can wait for it by BLMOVE of the list onto itself: this leaves the report
// for the next one to wait.

// Part of the text of each job that keeps one.
inline constexpr std::string_view mark_of_report = "\"keep_result\"";

// Adds the report of a job that ends with this outcome (null: it is deleted), if the job keeps one.
void append_report(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, const Outcome* outcome);

// Adds the result of a flow's step that has succeeded, for the steps after it.
void append_step_result(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, const Outcome& outcome);

Command ask_report(std::string_view jid);
// As ask_report(), but waits until there is one.
Command wait_for_report(std::string_view jid, std::chrono::milliseconds longest);
std::optional<JobReport> read_kept_report(ReplyView reply);  // nullopt: there is none

}  // namespace brood
