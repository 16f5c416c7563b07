// How a supervisor describes itself to people; see supervisor.hpp.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "supervisor/supervisor.hpp"
#include "supervisor/version.hpp"

namespace brood {

ProcessFacts Supervisor::facts_of_present() const {
  std::vector<CapsuleSettings> capsules = config_->capsules;
  std::erase_if(capsules, [](const CapsuleSettings& capsule) { return capsule.concurrency == 0; });
  return {.capsules = std::move(capsules),
          .tag = config_->tag,
          .labels = config_->labels,
          .version = std::string(version),
          .started_at = started_at_,
          .config_file = config_file_};
}

void Supervisor::report_status() {
  if (!phases_.service.listening()) return;
  std::string line = fmt::format("{}: {} of {} workers, {} busy", name_of(phases_.now()), fleet_.pool.ready(),
                                 config_->concurrency(), fleet_.pool.busy());
  if (const int finishing = fleet_.orders.finishing(); finishing > 0 && phases_.now() == Phase::running)
    line += fmt::format(", {} finishing", finishing);
  for (const std::string& more :
       {fleet_.pool.failing_starts(), fleet_.restart.status(), upgrade_.status(), fleet_.pressure.status()}) {
    if (!more.empty()) line += "; " + more;
  }
  if (const std::string trouble = log::trouble(); !trouble.empty()) line += "; the log is not written: " + trouble;
  line += state_of_redis();
  phases_.service.status(log::printable(line));  // systemd would take a second line for another message
}

// In the heartbeats.
void Supervisor::show_state() {
  const std::string state = operators_.state();
  for (Shard& shard : shards_) shard.heartbeat().set_state(state);
}

std::string Supervisor::describe_shards(std::string (RedisLink::*how)() const) const {
  std::string all;
  shards_.each([&](const Shard& shard) { all += (all.empty() ? "" : " ") + (shard.redis().*how)(); });
  return all;
}

// For people; empty if Redis is usable.
std::string Supervisor::state_of_redis() const {
  std::string line;
  shards_.each([&](const Shard& shard) {
    const RedisLink& redis = shard.redis();
    const std::string refusal = redis.refusal();
    if (!refusal.empty())
      line += fmt::format(", {} cannot be used: {}", redis.title(), refusal);
    else if (redis.is_away())
      line += fmt::format(", {} is away", redis.title());
  });
  return line;
}

}  // namespace brood
