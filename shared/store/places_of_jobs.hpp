#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/keyspace.hpp"

namespace brood {

// Every place where a job may lie.  Code that looks for a job, or for a job's queue, asks here, so it all knows a place
// that is added here.  Locks, limits and periodic jobs have no places of their own: their jobs wait in `schedule`.

// A list or a sorted set of jobs.
struct PlaceOfJobs {
  // sequence: it waits for the jobs before it
  // flow: it waits for other steps; these lie in hashes, which find_waiting_step() looks through, and no key is of it
  enum class Kind { queue, in_flight, schedule, retry, dead, quarantine, sequence, flow } kind = Kind::queue;
  RedisKey key;
  std::string queue = {};                 // bare name; of queues, and of lists in flight
  std::string sequence = {};              // name; of a list whose jobs wait for it
  std::string home = {};                  // the queue that it stands beside; of places_of_waiting_jobs()
  std::string identity = {}, field = {};  // of the worker that holds it; of lists in flight
};

// The sets whose jobs run later without an operator: the schedule, the retries, and the jobs in quarantine or of a
// paused class.
std::vector<PlaceOfJobs> sets_of_waiting_jobs();
PlaceOfJobs place_of_dead_jobs();

// Calls `look` with each place of this Redis where a job waits or is in flight.  The order is the one in which jobs
// go, and ends with the sets once more: so a job that moves meanwhile is met further on, perhaps twice.  Finds queues
// and sequences by the names of all keys.  Throws ConnectionLost or UnexpectedReply.
void for_each_place_of_jobs(Channel& redis, const std::function<void(const PlaceOfJobs&)>& look);

// The places where jobs of these queues wait, in the order in which jobs move.  `set_aside` are the queues beside
// others, as listed in Redis.
std::vector<PlaceOfJobs> places_of_waiting_jobs(const std::vector<std::string>& queues,
                                                const std::vector<std::string>& set_aside);

// ---- Queues beside others: "<queue>@<cap>", in which jobs wait for a place of their class's cap

// The queues in which jobs have waited, even if the cap is no longer configured.  Read with read_name_list().  Redis
// lists each as long as jobs wait in it or a worker holds jobs of it.
Command ask_set_aside();
// Whether `queue` is one of them.
Command ask_is_set_aside(std::string_view queue);
bool read_is_set_aside(ReplyView reply);  // false if Redis does not answer

// The queue that one of them stands beside, by its name; empty if the name cannot be one of theirs.  Any queue may have
// an @ in its name, so the name alone does not make it one of them.
std::string_view home_by_name(std::string_view aside);

// Those of `set_aside` that stand beside `queue`.
std::vector<std::string> beside(std::string_view queue, const std::vector<std::string>& set_aside);

}  // namespace brood
