#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/store/report/fleet_word.hpp"

namespace brood {

// The reports of the processes of all machines in Redis, and orders to them through Redis.  All functions here throw
// ConnectionLost or UnexpectedReply.

// The identities of brood's supervisors that send heartbeats, sorted.
std::vector<std::string> supervisors_that_beat(Connection& redis);

// Sends an order to a supervisor of brood.  Returns false if none with this identity sends heartbeats.  The supervisor
// obeys within some two seconds; an order that is unread after a minute is dropped.
bool send_word(Connection& redis, const std::string& identity, const FleetWord& word);

// The supervisors that run the job, by their own reports.  An id of the usual length may be shortened to its first four
// characters or more; when `jid` is itself the id of a running job, only that one is meant.
struct RunningElsewhere {
  std::string identity, jid, job_class;
};
std::vector<RunningElsewhere> who_runs(Connection& redis, const std::string& jid);

}  // namespace brood
