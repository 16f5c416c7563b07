#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/store/report/fleet_word.hpp"

namespace brood {

// Reads the reports in Redis of processes on all machines, and sends orders through Redis.  All functions here throw
// ConnectionLost or UnexpectedReply.

// The identities of brood's supervisors that send heartbeats, sorted.
std::vector<std::string> supervisors_that_beat(Connection& redis);

// Sends an order to a supervisor of brood.  Returns false if no supervisor with this identity sends heartbeats.  The
// supervisor obeys within about two seconds.  An order that is unread after a minute is dropped.
bool send_word(Connection& redis, const std::string& identity, const FleetWord& word);

// The supervisors whose reports list the job as running.  An id of the usual length may be shortened to four characters
// or more.  If `jid` is itself the id of a running job, only that job is meant.
struct RunningElsewhere {
  std::string identity, jid, job_class;
};
std::vector<RunningElsewhere> who_runs(Connection& redis, const std::string& jid);

}  // namespace brood
