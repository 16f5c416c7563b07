#pragma once

#include <string>
#include <string_view>

#include "shared/store/outcome.hpp"

namespace brood::interleavings {

// A payload here is "<job>#<attempts charged>".  For a job that holds something it is JSON, with these two as its jid.
std::string name_of(const std::string& payload);
std::string job_of(const std::string& payload);
int charges_of(const std::string& payload);
std::string charged_once_more(const std::string& payload);
Outcome retried(const std::string& payload);

// The text of a member of a JSON payload; empty if it has none.
std::string member_of(const std::string& payload, std::string_view key);

// A unique job, and a job of which only one runs at a time.
std::string unique_job(const std::string& job, const std::string& lock);
std::string one_at_a_time(const std::string& job, const std::string& lock);

// Throws std::logic_error unless `from` occurs exactly once.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

// A job that runs behind those that were pushed to the queue before it.
std::string job_in_sequence(const std::string& job, const std::string& sequence, const std::string& queue);

// A job of a class that has a cap.
std::string capped_job(const std::string& job);
bool is_capped(const std::string& payload);

}  // namespace brood::interleavings
