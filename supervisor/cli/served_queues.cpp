#include "supervisor/cli/served_queues.hpp"

#include <vector>

#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/keys.hpp"

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

ServedQueues ask_served_queues(Connection& redis) {
  const std::vector<Reply> identities = redis.pipeline({{"SMEMBERS", keys::processes}});
  const ReplyView members = identities.front().view();
  ServedQueues served;
  served.known = members.is_array();
  std::vector<Command> commands;
  for (std::size_t i = 0; served.known && i < members.size(); ++i)
    commands.push_back({"HGET", std::string(members[i].text()), "info"});
  if (commands.empty()) return served;
  for (const Reply& info : redis.pipeline(commands)) {
    if (!info.view().is_string()) continue;  // expired: nobody has taken its name away yet
    served.somebody_beats = true;
    add_queues(info.view().text(), served.names);
  }
  return served;
}

}  // namespace brood
