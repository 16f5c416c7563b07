#include "supervisor/cli/fleet/scale_fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/fleet.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/fleet/fleet_members.hpp"
#include "supervisor/cli/fleet/fleet_order.hpp"
#include "supervisor/cli/fleet/fleet_roll.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto between_questions = 500ms;
// New workers load the libraries; a supervisor gives up those that take longer than boot_timeout.
constexpr FleetRoll::Limits limits_of_scale{.to_begin = 75s, .to_end = 5min};

// One supervisor that was ordered.  The turn of one that answers orders is followed like a fleet of one.
struct Ordered {
  FleetMember member;
  FleetRoll turn{1, limits_of_scale};
  std::optional<FleetRoll::End> end = {};

  bool answers() const { return member.state.has_value(); }
  std::string_view outcome() const { return answers() ? name_of(*end) : "ordered"; }
};

std::string json_of_ordered(const Ordered& one) {
  return JsonWriter()
      .text("identity", one.member.identity)
      .text("outcome", one.outcome())
      .text_or_null("reason", one.end == FleetRoll::End::done || !one.answers() ? "" : one.turn.text())
      .object();
}

std::vector<Ordered> give_all(ShardConnections& shards, const FleetScale& scale) {
  std::vector<Ordered> ordered;
  std::vector<FleetMember> all = fleet_members(shards);
  std::erase_if(all, [](const FleetMember& member) { return !member.is_broods; });
  for (FleetMember& member : members_meant(std::move(all), scale.process)) {
    if (!member.state) {  // of an older brood, which takes the order and does not answer
      if (shards.any([&](ShardConnections::Shard& shard) {
            return send_word(shard.redis, member.identity, {"scale", {scale.workers, scale.capsule}});
          }))
        ordered.push_back({.member = std::move(member)});
      continue;
    }
    const auto id = give_order(shards, member.identity, "scale", {scale.workers, scale.capsule});
    ordered.push_back({.member = std::move(member)});
    if (id)
      ordered.back().turn.begin(*id, steady_now());
    else
      ordered.back().end = FleetRoll::End::gone;
  }
  return ordered;
}

void tell(const Ordered& one, const FleetScale& scale) {
  if (one.end == FleetRoll::End::done || !one.answers())
    return print(fmt::format("{}: {} {} to {}\n", log::printable(one.member.identity),
                             one.answers() ? "scaled" : "ordered, without an answer, to scale",
                             log::printable(scale.capsule), scale.workers));
  fmt::print(stderr, "brood scale: {}: {}\n", log::printable(one.member.identity),
             log::printable(sentence_of(*one.end, one.turn.text())));
}

void await(ShardConnections& shards, std::vector<Ordered>& all, const FleetScale& scale) {
  const auto waits = [](const Ordered& one) { return one.answers() && !one.end; };
  for (;;) {
    for (Ordered& one : all) {
      if (!waits(one)) continue;
      one.end = one.turn.look(look_at_member(shards, one.member.identity), steady_now());
      if (one.end && !scale.json) tell(one, scale);
    }
    if (std::none_of(all.begin(), all.end(), waits)) return;
    std::this_thread::sleep_for(between_questions);
  }
}

int status_of(const std::vector<Ordered>& all) {
  const auto any = [&](FleetRoll::End end) {
    return std::any_of(all.begin(), all.end(), [&](const Ordered& one) { return one.end == end; });
  };
  const bool all_done = std::all_of(
      all.begin(), all.end(), [](const Ordered& one) { return !one.answers() || one.end == FleetRoll::End::done; });
  if (all_done) return exit_status::ok;
  if (any(FleetRoll::End::refused)) return exit_status::configuration;
  return any(FleetRoll::End::rolled_back) ? exit_status::internal : exit_status::try_again;
}

}  // namespace

int scale_fleet(const FleetScale& scale) {
  ShardConnections shards(scale.redis, {.connect = 3s, .command = 5s}, "brood-scale");
  std::vector<Ordered> all = give_all(shards, scale);
  if (!scale.json) {
    for (const Ordered& one : all) {
      if (!one.answers() || one.end) tell(one, scale);
    }
  }
  await(shards, all, scale);
  if (scale.json) {
    std::vector<std::string> asked;
    for (const Ordered& one : all) asked.push_back(one.member.identity);
    print_json(JsonWriter().texts("asked", asked).each("answers", all, json_of_ordered).object() + "\n");
  }
  if (!all.empty()) return status_of(all);
  fmt::print(stderr, "brood scale: no supervisor {}has a heartbeat\n",
             scale.process.empty() ? "" : fmt::format("\"{}\" ", log::printable(scale.process)));
  return exit_status::unavailable;
}

}  // namespace brood
