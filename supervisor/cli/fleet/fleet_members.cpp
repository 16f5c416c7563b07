#include "supervisor/cli/fleet/fleet_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "shared/api/process_record.hpp"
#include "shared/base/log_line.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/scan.hpp"
#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {
namespace {

constexpr std::size_t questions = 3;  // about each process

std::vector<FleetMember> members_in(Connection& redis) {
  const std::vector<std::string> identities = read_name_list(redis.call(ask_processes()).view());
  std::vector<Command> commands;
  for (const std::string& identity : identities) {
    commands.push_back(ask_process_hash(identity));
    commands.push_back(ask_is_owner(identity));
    commands.push_back(ask_supervisor_state(identity));
  }
  const std::vector<Reply> replies = redis.pipeline(commands);
  std::vector<FleetMember> members;
  for (std::size_t i = 0; i < identities.size(); ++i) {
    const auto process = read_process(identities[i], replies[questions * i].view());
    if (!process) continue;
    members.push_back({.identity = identities[i],
                       .hostname = process->hostname,
                       .version = process->version,
                       .pid = process->pid,
                       .workers = process->concurrency,
                       .is_broods = read_is_owner(replies[questions * i + 1].view()),
                       .state = read_supervisor_state(replies[questions * i + 2].view())});
  }
  return members;
}

}  // namespace

std::vector<FleetMember> fleet_members(ShardConnections& shards) {
  std::map<std::string, FleetMember> found;
  shards.each([&](ShardConnections::Shard& shard) {
    for (FleetMember& member : members_in(shard.redis)) {
      const auto [known, is_new] = found.try_emplace(member.identity, member);
      if (is_new) continue;
      known->second.is_broods |= member.is_broods;
      if (!known->second.state) known->second.state = member.state;
    }
  });
  std::vector<FleetMember> members;
  for (auto& [identity, member] : found) members.push_back(std::move(member));
  std::sort(members.begin(), members.end(), [](const FleetMember& a, const FleetMember& b) {
    return std::tie(a.hostname, a.pid, a.identity) < std::tie(b.hostname, b.pid, b.identity);
  });
  return members;
}

std::vector<FleetMember> members_meant(std::vector<FleetMember> all, const std::string& word) {
  if (word.empty()) return all;
  const auto whole =
      std::find_if(all.begin(), all.end(), [&](const FleetMember& member) { return member.identity == word; });
  if (whole != all.end()) return {*whole};
  std::erase_if(all, [&](const FleetMember& member) { return !member.identity.starts_with(word); });
  if (all.size() <= 1) return all;
  std::vector<std::string> names;
  for (const FleetMember& member : all) names.push_back(log::printable(member.identity));
  throw UsageError(fmt::format("\"{}\" may be {}", log::printable(word), fmt::join(names, " or ")));
}

std::optional<SeenMember> look_at_member(ShardConnections& shards, const std::string& identity) try {
  SeenMember seen;
  bool one_is_away = false;
  shards.on_away([&](const std::string& shard, const std::string& why) {
    one_is_away = true;
    say_away(shard, why);
  });
  shards.any([&](ShardConnections::Shard& shard) {
    const std::vector<Reply> replies =
        shard.redis.pipeline({ask_whether_beats(identity), ask_supervisor_state(identity)});
    // Redis refused the question, which does not prove that the heartbeat has ended.
    if (!read_whether_beats(replies[0].view()).value_or(true)) return false;
    seen.beats = true;
    seen.state = read_supervisor_state(replies[1].view());
    return seen.state.has_value();
  });
  shards.on_away({});
  return seen.beats || !one_is_away ? std::optional(seen) : std::nullopt;
} catch (const ConnectionLost&) {
  shards.on_away({});
  return std::nullopt;
}

std::string title_of(const FleetMember& member) {
  return fmt::format("{} pid {}", log::printable(member.hostname), member.pid);
}

}  // namespace brood
