#include "supervisor/recovery/standing.hpp"

namespace brood {

const char* text_of(Standing standing) {
  switch (standing) {
    case Standing::lives:
      return "lives";
    case Standing::finishing:
      return "finishing";
    case Standing::dead:
      return "dead";
    case Standing::silent:
      break;
  }
  return "silent";
}

Standing standing_of(const InFlightHolder& holder, const Identity& own, const WorkersLive& workers_live,
                     const std::function<bool(const Identity&)>& lives) {
  if (holder.identity && holder.identity->same_boot(own)) {
    // Here the processes themselves are seen, and a heartbeat proves nothing: Redis keeps it for a minute after the
    // death.
    if (lives(*holder.identity)) return Standing::lives;
    if (const std::optional<bool> some_left = workers_live(*holder.identity))
      return *some_left ? Standing::finishing : Standing::dead;
  }
  return holder.has_heartbeat ? Standing::lives : Standing::silent;
}

}  // namespace brood
