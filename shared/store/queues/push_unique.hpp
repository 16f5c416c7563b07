#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/options.hpp>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/script.hpp"

namespace brood {

// The number of a client's batch: a batch is pushed once, however often it is sent, see push_commands.hpp.  The first
// job that the batch pushes takes the number; a refused job does not.  A job that may replace another is a batch of its
// own, so that a taken number means that this job was pushed.
struct BatchNumber {
  std::string client;
  std::uint64_t number = 1;
};
inline constexpr std::string_view batch_number_kept_s = "86400";

inline constexpr std::size_t max_unique_jobs_pushed = 100;

// A unique job.
struct UniqueJob {
  std::string_view lock;  // base64url of SHA-256
  std::string_view jid;
  std::chrono::milliseconds longest{0};  // that the lock lives; 0: as long as the job
  std::string score_text;                // for the schedule
  std::string payload;
  OnConflict on_conflict = OnConflict::drop;  // replace: as drop, see replace_unique()
};

// Pushes at most max_unique_jobs_pushed jobs, each with its lock, in one step: to `queue`, or to the schedule if that
// is empty.
ScriptCall push_unique(std::string_view queue, std::vector<UniqueJob> jobs);
// The same as a numbered batch: sent twice it is pushed once.
ScriptCall push_unique_once(const BatchNumber& batch, std::string_view queue, std::vector<UniqueJob> jobs);

// For each job the jid that holds its lock; empty if the job was pushed, with the lock or to wait for it.  No element
// if the batch was pushed before.
std::vector<std::string> read_holders(ReplyView reply);  // throws UnexpectedReply

// The holder of a lock; read_holder() returns an empty string if it is free.
Command ask_holder(std::string_view lock);
std::string read_holder(ReplyView reply);

// A unique job that holds its lock and waits, and where it was found.
struct WaitingHolder {
  std::string jid, payload;
  PlaceOfJobs place;
  std::string score_text;  // empty in a queue
};

// Searches for it wherever jobs of these queues wait, page by page through `run`, which sends a script and returns its
// reply: see places_of_jobs.hpp.  nullopt if it waits in none of these places: it runs, or moved during the search.
// Throws UnexpectedReply.
std::optional<WaitingHolder> find_waiting_holder(const std::function<Reply(const ScriptCall&)>& run,
                                                 const std::vector<std::string>& queues,
                                                 const std::vector<std::string>& set_aside, std::string_view lock,
                                                 std::string_view jid);

// Replaces the holder by `job`, which takes over the lock, in one step; `queue` is empty for the schedule.  If the
// holder waits in that queue, or beside it for a place of a cap, the job takes its position.  The job takes the number
// of its batch.
ScriptCall replace_unique(std::string_view queue, const WaitingHolder& holder, const UniqueJob& job,
                          const std::optional<BatchNumber>& batch = std::nullopt);
// Returns false if the holder no longer holds the lock or no longer waits there: then nothing was changed.
bool read_replaced(ReplyView reply);  // throws UnexpectedReply

}  // namespace brood
