#include "supervisor/recovery/judge_supervisor_deaths.hpp"

#include <utility>

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto missing_long_enough = 60s;
// A heartbeat lives for 60 s, so none can come and go unseen between two looks that are closer than this.
constexpr auto longest_gap = 30s;

}  // namespace

SupervisorDeathJudge::SupervisorDeathJudge(Identity own, HasLeftFiles has_left_files, ProcessLives lives)
    : own_(std::move(own)), has_left_files_(std::move(has_left_files)), lives_(std::move(lives)) {}

SupervisorDeathJudge::Standing SupervisorDeathJudge::standing(const Identity& identity) const {
  if (identity.name == own_.name) return Standing::lives;
  if (identity.same_boot(own_)) {
    if (lives_(identity)) return Standing::lives;
    if (has_left_files_(identity, "")) return Standing::suspected;
  }
  return missing_since_.contains(identity.name) ? Standing::suspected : Standing::beats;
}

std::vector<DeadSupervisor> SupervisorDeathJudge::judge(const std::vector<Sighting>& sightings,
                                                        const std::string& conversation, SteadyTime now) {
  if (conversation.empty() || conversation != conversation_ || now - last_look_ > longest_gap) missing_since_.clear();
  conversation_ = conversation;
  last_look_ = now;

  std::vector<DeadSupervisor> dead;
  std::map<std::string, SteadyTime> still_missing;
  for (const Sighting& sighting : sightings) {
    const Identity& identity = sighting.identity;
    if (identity.name == own_.name) continue;
    if (identity.same_boot(own_)) {
      // A heartbeat proves nothing here: Redis keeps it for a minute after a death, and a stopped process sends none.
      if (lives_(identity)) continue;
      if (has_left_files_(identity, sighting.beat_token)) {
        dead.push_back({identity, true});
        continue;
      }
    }
    if (sighting.has_heartbeat || conversation.empty()) continue;
    const auto known = missing_since_.find(identity.name);
    const SteadyTime since = known == missing_since_.end() ? now : known->second;
    still_missing.emplace(identity.name, since);
    if (now - since >= missing_long_enough) dead.push_back({identity, false});
  }
  missing_since_ = std::move(still_missing);
  return dead;
}

}  // namespace brood
