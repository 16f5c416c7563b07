#pragma once

#include <map>
#include <set>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// Tells which of several supervisors are dead, by their heartbeats alone.  A flush of Redis removes the heartbeats of
// the living too, but they beat again soon; the last heartbeat of a dead one stays for a minute.  So one that has had
// no heartbeat for a minute is dead, and one whose heartbeat is too new to be left over lives.  Pure: told what was
// seen, and when.
class SignsOfLife {
 public:
  SignsOfLife(const std::set<std::string>& identities, SteadyTime begun);

  // It has a heartbeat now, or Redis does not tell.
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
