#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace brood {

// The mark that a worker writes into the output of its jobs, after each job that printed anything: the output before it
// is that job's.  The token is random for each worker, so that no job prints a mark by accident.  A job that forges a
// mark misleads only about its own output.

// The mark as one line, short enough for a pipe to take in one piece.  In jid and class, control characters are
// escaped, and long texts cut.
std::string job_end_mark(std::string_view token, std::string_view jid, std::string_view job_class);

struct EndedJob {
  std::string_view jid, job_class;
};

// Finds a mark at the end of `line`, which has no newline.  Before the mark is the job's last output without a newline.
struct FoundMark {
  std::size_t at;  // where in the line it begins
  EndedJob end;
};
std::optional<FoundMark> find_job_end_mark(std::string_view line, std::string_view token);

// A token that cannot be guessed.  Throws std::system_error.
std::string random_token();

}  // namespace brood
