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

// The number under which a batch of a client's is pushed once, however often it is sent, see push_commands.hpp.  What
// the batch pushes first takes it: a job of it that is refused does not.  A job that may replace another is a batch of
// its own: that the number was taken says that this job was pushed.
struct BatchNumber {
  std::string client;
  std::uint64_t number = 1;
};
inline constexpr std::string_view batch_number_kept_s = "86400";

inline constexpr std::size_t max_unique_jobs_pushed = 100;

// A job of which there is to be one.
struct UniqueJob {
  std::string_view lock;  // base64url of SHA-256
  std::string_view jid;
  std::chrono::milliseconds longest{0};  // that the lock lives; 0: as long as the job
  std::string score_text;                // for the schedule
  std::string payload;
  OnConflict on_conflict = OnConflict::drop;  // replace: as drop, see replace_unique()
};

// Pushes at most so many jobs, each with its lock, in one step: for a queue or, with no queue, for the schedule.
ScriptCall push_unique(std::string_view queue, std::vector<UniqueJob> jobs);
// As this batch: sent twice it is pushed once.
ScriptCall push_unique_once(const BatchNumber& batch, std::string_view queue, std::vector<UniqueJob> jobs);

// For each job the jid that holds its lock; empty where it was pushed, with it or to wait for it.  Empty: the batch was
// pushed before.
std::vector<std::string> read_holders(ReplyView reply);  // throws UnexpectedReply

// Who holds a lock; read_holder(): empty for nobody.
Command ask_holder(std::string_view lock);
std::string read_holder(ReplyView reply);

// A unique job that holds its lock and waits, where it was seen.
struct WaitingHolder {
  std::string jid, payload;
  PlaceOfJobs place;
  std::string score_text;  // empty in a queue
};

// Looks for it wherever jobs of these queues wait, one page after the other by `run`, which sends a script and returns
// its reply: see places_of_jobs.hpp.  nullopt: it waits nowhere there; so it runs, or moved while we looked.  Throws
// UnexpectedReply.
std::optional<WaitingHolder> find_waiting_holder(const std::function<Reply(const ScriptCall&)>& run,
                                                 const std::vector<std::string>& queues,
                                                 const std::vector<std::string>& set_aside, std::string_view lock,
                                                 std::string_view jid);

// Puts the job in its place and gives it the lock, in one step: `queue` is empty for the schedule.  Where the other
// waits in that queue, or beside it for a place of a cap, it stands where that stood.  It takes the number of its
// batch.
ScriptCall replace_unique(std::string_view queue, const WaitingHolder& holder, const UniqueJob& job,
                          const std::optional<BatchNumber>& batch = std::nullopt);
// False: the other does not hold the lock any more, or does not wait there.  Nothing was changed.
bool read_replaced(ReplyView reply);  // throws UnexpectedReply

}  // namespace brood
