#pragma once

#include <map>
#include <set>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// Finds the dead among several supervisors, by their heartbeats alone.  A flush of Redis removes the heartbeats of
// living supervisors too, but they send another one soon.  Redis keeps the last heartbeat of a dead one for a minute.
// So a supervisor without a heartbeat for a minute is dead.  A supervisor that has a heartbeat more than a minute after
// the beginning is alive.  Pure: it gets observations with their times.
class SignsOfLife {
 public:
  SignsOfLife(const std::set<std::string>& identities, SteadyTime begun);

  // Notes that the supervisor has a heartbeat now, or that Redis does not answer.
  void seen(const std::string& identity, SteadyTime now);

  // The supervisors not yet known to be dead or alive.  After two minutes there are none.
  std::set<std::string> doubtful(SteadyTime now) const;
  // The supervisors known to be dead.
  std::set<std::string> silent(SteadyTime now) const;

 private:
  bool lives(SteadyTime last_seen) const;

  SteadyTime begun_;
  std::map<std::string, SteadyTime> last_seen_;
};

}  // namespace brood
