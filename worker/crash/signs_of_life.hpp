#pragma once

#include <map>
#include <set>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// Finds the dead among several supervisors, by their heartbeats alone.  A flush of Redis removes the heartbeats of
// living supervisors too, but they beat again soon.  The last heartbeat of a dead one stays for a minute.  So a
// supervisor without a heartbeat for a minute is dead, and one with a heartbeat too new to be left over lives.  Pure:
// it gets observations with their times.
class SignsOfLife {
 public:
  SignsOfLife(const std::set<std::string>& identities, SteadyTime begun);

  // It has a heartbeat now, or Redis does not answer.
  void seen(const std::string& identity, SteadyTime now);

  // Those not yet known to be dead or alive.  After two minutes there are none.
  std::set<std::string> doubtful(SteadyTime now) const;
  std::set<std::string> silent(SteadyTime now) const;

 private:
  bool lives(SteadyTime last_seen) const;

  SteadyTime begun_;
  std::map<std::string, SteadyTime> last_seen_;
};

}  // namespace brood
