#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shared/clock.hpp"
#include "shared/identity.hpp"

namespace brood {

// A supervisor that is gone and may have left jobs in flight.
struct DeadSupervisor {
  Identity identity;
  bool same_host = false;  // its pids mean something here: each of its workers is judged by (pid, start time) too
};

// Who of those in brood:processes is dead: proven on this host, for another host decided by a heartbeat that we have
// ourselves seen missing for a minute.  Pure: tests drive it with invented clocks.
class DeathJudge {
 public:
  // One identity that may own in-flight lists, and whether its heartbeat was in Redis just now.
  struct Sighting {
    Identity identity;
    bool has_heartbeat = false;
  };
  using ProcessLives = std::function<bool(const Identity&)>;

  explicit DeathJudge(Identity own, ProcessLives lives = supervisor_lives);

  // `conversation` names one unbroken connection to one run of Redis; in another one the minute begins anew, as it does
  // when the last look is so long ago that a heartbeat could have come and gone meanwhile.  Empty: not known, and then
  // only this host's processes are judged.
  std::vector<DeadSupervisor> judge(const std::vector<Sighting>& sightings, const std::string& conversation,
                                    SteadyTime now);

 private:
  Identity own_;
  ProcessLives lives_;
  std::string conversation_;
  SteadyTime last_look_{};
  std::map<std::string, SteadyTime> missing_since_;
};

}  // namespace brood
