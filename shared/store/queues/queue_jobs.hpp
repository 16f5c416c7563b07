#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// `queue` is a bare name.
Command ask_queue_length(std::string_view queue);                // answers an integer
Command ask_next_job(std::string_view queue);                    // the oldest
std::optional<std::string_view> read_next_job(ReplyView reply);  // valid as long as the reply; nullopt: none waits

// Jobs by their places in the list, from its head: the newest has the number 0.
Command ask_jobs_at(std::string_view queue, std::string_view first, std::string_view last);
std::vector<std::string> read_jobs_at(ReplyView reply);

Command remove_job(std::string_view queue, std::string_view payload);
ScriptCall remove_holding_job(std::string_view queue, const std::string& payload);  // of a job that holds something
bool read_job_was_removed(ReplyView reply);

Command drop_queue(std::string_view queue);  // all jobs, but not the name

// The progress of a walk through a queue, from its head: the newest job.
struct QueuePosition {
  std::size_t behind = 0;           // position after the last job seen
  std::optional<std::size_t> size;  // of the queue when it was seen; nullopt at the beginning
};

// Up to `count` jobs after those seen; the positions of these may have changed.  Some may come twice, none is skipped.
ScriptCall queue_page(std::string_view queue, const QueuePosition& position, std::size_t count);

struct QueuePage {
  std::size_t size = 0;  // of the whole queue
  std::size_t first = 0;
  std::vector<std::string> payloads;  // the newest first
};
QueuePage read_queue_page(ReplyView reply);

struct QueuedJob {
  std::size_t position;  // from the head, as read
  std::string payload;
};

// One call of LREM removes up to so many jobs: it searches the list from one end.
inline constexpr std::size_t max_jobs_removed = 250;

// Removes jobs of a queue, up to max_jobs_removed, in order from the head.  A job is not found if it has moved by more
// than `slack` places, because that many jobs have joined the queue since it was read.
ScriptCall remove_jobs(std::string_view queue, const std::vector<QueuedJob>& jobs, std::size_t slack);

struct Removed {
  std::size_t removed = 0;
  std::size_t unseen = 0;  // how many at the end were not looked at; call again for them
};
Removed read_removed(ReplyView reply);

// Waits until the queue holds a job, at most for `longest`.  Moves nothing, even if a worker waits on the same queue.
Command peek(std::string_view queue, std::chrono::seconds longest);

// The next job of the queue; empty if none came.  Throws UnexpectedReply.
std::string read_peek(ReplyView reply);

}  // namespace brood
