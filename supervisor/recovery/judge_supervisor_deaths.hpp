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
  bool same_host = false;  // it ran here and its death is proven: its workers can be judged by pid and start time, too
};

// Decides which of the supervisors in brood:processes are dead.  Pure: tests drive it with invented clocks.
//
// A supervisor of this host is dead if that is proven.  A supervisor of another host counts as dead once we ourselves
// have seen its heartbeat missing for a minute.  A supervisor is of this host if it has the same boot id and has left
// its files here.  The boot id alone is not enough: a machine that was cloned while it ran shares it with its clone,
// where its pids mean nothing.
class SupervisorDeathJudge {
 public:
  // An identity that may own in-flight lists, and whether its heartbeat was in Redis just now.
  struct Sighting {
    Identity identity;
    bool has_heartbeat = false;
    std::string beat_token = {};  // the token in the heartbeat; empty if none is known
  };
  // Whether a dead process of the same boot has left its files here and sent the heartbeat in Redis.
  using HasLeftFiles = std::function<bool(const Identity&, const std::string& beat_token)>;
  using ProcessLives = std::function<bool(const Identity&)>;

  SupervisorDeathJudge(Identity own, HasLeftFiles has_left_files, ProcessLives lives = supervisor_lives);

  // The question to Redis that must be answered before this supervisor can be judged.
  enum class Standing {
    lives,      // nothing: its process runs on this host, or it is ourselves
    beats,      // its heartbeat: one command asks for many of these
    suspected,  // a whole Sighting: its process is gone, or its heartbeat was missing at the last look
  };
  Standing standing(const Identity& identity) const;

  // `conversation` names one unbroken connection to one run of Redis; if it is empty, only this host's processes are
  // judged. The minute begins anew in another conversation, and if the last look is so long ago that a heartbeat could
  // have come and gone.
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
