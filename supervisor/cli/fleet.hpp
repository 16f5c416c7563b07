#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "supervisor/control/fleet_word.hpp"

namespace brood {

// What the processes of all machines say of themselves in Redis, and orders to them through it.  All throw
// ConnectionLost or UnexpectedReply.

// The identities of brood's supervisors that beat, sorted.
std::vector<std::string> supervisors_that_beat(Connection& redis);

// Whether it was sent: to a supervisor of brood that beats.  It follows it within some two seconds, or forgets it.
bool send_word(Connection& redis, const std::string& identity, const FleetWord& word);

// Who says that it runs a job; a beginning of the id, of four characters or more, will do for those of the usual
// length.
struct RunningElsewhere {
  std::string identity, jid, job_class;
};
std::vector<RunningElsewhere> who_runs(Connection& redis, const std::string& jid);

}  // namespace brood
