#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/reply.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/queues/push_unique.hpp"
#include "shared/store/script.hpp"

namespace brood {

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
