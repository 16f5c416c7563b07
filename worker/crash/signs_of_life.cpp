#include "worker/crash/signs_of_life.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto kept = 60s;  // how long Redis keeps a heartbeat
constexpr auto dead_after = 60s;

}  // namespace

SignsOfLife::SignsOfLife(const std::set<std::string>& identities, SteadyTime begun) : begun_(begun) {
  for (const std::string& identity : identities) last_seen_.emplace(identity, begun);
}

void SignsOfLife::seen(const std::string& identity, SteadyTime now) { last_seen_[identity] = now; }

bool SignsOfLife::lives(SteadyTime last_seen) const { return last_seen - begun_ > kept; }

std::set<std::string> SignsOfLife::doubtful(SteadyTime now) const {
  std::set<std::string> found;
  for (const auto& [identity, last] : last_seen_) {
    if (!lives(last) && now - last < dead_after) found.insert(identity);
  }
  return found;
}

std::set<std::string> SignsOfLife::silent(SteadyTime now) const {
  std::set<std::string> found;
  for (const auto& [identity, last] : last_seen_) {
    if (!lives(last) && now - last >= dead_after) found.insert(identity);
  }
  return found;
}

}  // namespace brood
