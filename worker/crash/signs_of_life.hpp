#pragma once

#include <map>
#include <set>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// Who of several supervisors is dead, by their heartbeats alone.  A flush of Redis takes those of the living too, which
// beat again soon; the last one of the dead stays for a minute.  So whoever has none for a minute is dead, and whoever
// has one that is too new to have been left behind lives.  Pure: told what was seen, and when.
class SignsOfLife {
 public:
  SignsOfLife(const std::set<std::string>& identities, SteadyTime begun);

  // Just now it had a heartbeat, or nobody knows.
  void seen(const std::string& identity, SteadyTime now);

  // Those of whom it is not certain yet.  After two minutes there are none.
  std::set<std::string> doubtful(SteadyTime now) const;
  std::set<std::string> silent(SteadyTime now) const;

 private:
  bool lives(SteadyTime last_seen) const;

  SteadyTime begun_;
  std::map<std::string, SteadyTime> last_seen_;
};

}  // namespace brood
