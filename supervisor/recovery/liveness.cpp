#include "supervisor/recovery/liveness.hpp"

namespace brood {

const char* text_of(Liveness liveness) {
  switch (liveness) {
    case Liveness::lives:
      return "lives";
    case Liveness::finishing:
      return "finishing";
    case Liveness::dead:
      return "dead";
    case Liveness::silent:
      break;
  }
  return "silent";
}

Liveness liveness_of(const InFlightHolder& holder, const Identity& own, const WorkersLive& workers_live,
                     const std::function<bool(const Identity&)>& lives) {
  if (holder.identity && holder.identity->same_boot(own)) {
    // On this host we see the processes themselves.  A heartbeat proves nothing: Redis keeps it for a minute after the
    // death.
    if (lives(*holder.identity)) return Liveness::lives;
    if (const std::optional<bool> some_left = workers_live(*holder.identity))
      return *some_left ? Liveness::finishing : Liveness::dead;
  }
  return holder.has_heartbeat ? Liveness::lives : Liveness::silent;
}

}  // namespace brood
