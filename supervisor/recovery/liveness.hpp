#pragma once

#include <functional>
#include <optional>

#include "shared/base/identity.hpp"
#include "shared/store/in_flight/census.hpp"

namespace brood {

// What is known of the life of one that holds jobs in flight, by somebody who has but this one look.
enum class Liveness {
  lives,      // its process is there, or, on another host, it beats
  finishing,  // it is dead, and workers of it are there, or may be: they settle and leave by themselves
  dead,       // of this host, and proven: neither it nor a worker of it is there
  silent,     // not proven to be of this host, and without a heartbeat: dead, or cut off from Redis and at work
};

const char* text_of(Liveness liveness);

// Whether workers of a dead supervisor of the same boot live; nullopt: nothing shows that it ran here, see
// SupervisorDeathJudge.
using WorkersLive = std::function<std::optional<bool>(const Identity&)>;

Liveness liveness_of(const InFlightHolder& holder, const Identity& own, const WorkersLive& workers_live,
                     const std::function<bool(const Identity&)>& lives = supervisor_lives);

}  // namespace brood
