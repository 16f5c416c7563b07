#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"

namespace brood {

// A supervisor that is gone and may have left jobs in flight.
struct DeadSupervisor {
  Identity identity;
  bool same_host = false;  // proven: its pids mean something here, its workers are judged by (pid, start time) too
};

// Who of those in brood:processes is dead: proven on this host, for another host decided by a heartbeat that we have
// ourselves seen missing for a minute.  Of this host is who has the same boot and has left its files here: a machine
// that was cloned while it ran has the same boot as its clone, and pids that mean nothing there.  Pure: tests drive it
// with invented clocks.
class SupervisorDeathJudge {
 public:
  // One identity that may own in-flight lists, and whether its heartbeat was in Redis just now.
  struct Sighting {
    Identity identity;
    bool has_heartbeat = false;
    std::string beat_token = {};  // of the heartbeat; empty: none is known
  };
  // Whether a dead process of the same boot has left its files here, and is the one that the heartbeat is of.
  using HasLeftFiles = std::function<bool(const Identity&, const std::string& beat_token)>;
  using ProcessLives = std::function<bool(const Identity&)>;

  SupervisorDeathJudge(Identity own, HasLeftFiles has_left_files, ProcessLives lives = supervisor_lives);

  // `conversation` names one unbroken connection to one run of Redis; in another one the minute begins anew, as it does
  // when the last look is so long ago that a heartbeat could have come and gone meanwhile.  Empty: not known, and then
  // only this host's processes are judged.
  std::vector<DeadSupervisor> judge(const std::vector<Sighting>& sightings, const std::string& conversation,
                                    SteadyTime now);

 private:
  Identity own_;
  HasLeftFiles has_left_files_;
  ProcessLives lives_;
  std::string conversation_;
  SteadyTime last_look_{};
  std::map<std::string, SteadyTime> missing_since_;
};

}  // namespace brood
