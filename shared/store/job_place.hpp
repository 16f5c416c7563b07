#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Where a job of a small Redis is.  Each of these commands scans all keys in one step, so that it cannot miss a job
// that moves.  Reading throws UnexpectedReply.
struct JobPlace {
  // waits: in a queue, for its sequence, or in flight; quarantine: there, or for its class, which is paused
  enum class Kind { waits, schedule, retry, dead, quarantine, nowhere } kind = Kind::nowhere;
  std::string member = {}, score_text = {};  // in a set; else empty
};
Command find_job(std::string_view part_of_its_text);
JobPlace read_job_place(ReplyView reply);

// How many jobs are in queues, wait for their sequences, and are in flight.
Command count_waiting_jobs();
std::size_t read_waiting_jobs(ReplyView reply);

}  // namespace brood
