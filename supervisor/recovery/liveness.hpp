#pragma once

#include <functional>
#include <optional>

#include "shared/base/identity.hpp"
#include "shared/store/in_flight/census.hpp"

namespace brood {

// Whether a supervisor that holds jobs in flight is alive, according to one look.
enum class Liveness {
  lives,      // its process runs, or, on another host, it sends heartbeats
  finishing,  // it is dead, but some of its workers run or may run: they settle and leave by themselves
  dead,       // it ran on this host, and neither it nor any of its workers runs
  silent,     // not known to be of this host, and without a heartbeat: dead, or at work but cut off from Redis
};

const char* text_of(Liveness liveness);

// Whether workers of this dead supervisor live.  nullopt if it has our boot id, but nothing shows that it ran here: see
// SupervisorDeathJudge.
using WorkersLive = std::function<std::optional<bool>(const Identity&)>;

Liveness liveness_of(const InFlightHolder& holder, const Identity& own, const WorkersLive& workers_live,
                     const std::function<bool(const Identity&)>& lives = supervisor_lives);

}  // namespace brood
