#include "supervisor/cli/access/served_queues.hpp"

#include <brood/api.hpp>

#include <optional>
#include <utility>
#include <vector>

#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/scan.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {
namespace {

void add_queues(std::string_view info, std::set<std::string>& names) {
  try {
    const JsonObject process = JsonObject::parse(info);
    const auto queues = process.raw("queues");
    if (!queues || !queues->starts_with('[')) return;
    for (const std::string& name : json_elements(*queues)) {
      if (name.starts_with('"')) names.insert(json_unescape(name));
    }
  } catch (const BadJson&) {
  }
}

}  // namespace

std::string queue_json(const QueueSummary& queue, const ServedQueues& served) {
  return JsonWriter()
      .text("name", queue.name)
      .number("size", queue.size)
      .decimal("latency", queue.latency)
      .truth("paused", queue.paused)
      .truth("served", served.holds(queue.name))
      .object();
}

ServedQueues ask_served_queues(ShardConnections& shards) {
  std::optional<ServedQueues> all;
  shards.each([&](ShardConnections::Shard& shard) {
    ServedQueues here = ask_served_queues(shard.redis);
    if (!all) {
      all = std::move(here);
      return;
    }
    all->known = all->known && here.known;
    all->somebody_beats = all->somebody_beats || here.somebody_beats;
    all->names.merge(here.names);
  });
  return *all;
}

ServedQueues ask_served_queues(Connection& redis) {
  const auto identities = read_name_list_if_told(redis.pipeline({ask_processes()}).front().view());
  ServedQueues served;
  served.known = identities.has_value();
  if (!identities || identities->empty()) return served;
  std::vector<Command> commands;
  for (const std::string& identity : *identities) commands.push_back(ask_info(identity));
  for (const Reply& reply : redis.pipeline(commands)) {
    const auto info = read_info(reply.view());
    if (!info) continue;  // its heartbeat has expired, but its name is still listed
    served.somebody_beats = true;
    add_queues(*info, served.names);
  }
  return served;
}

}  // namespace brood
