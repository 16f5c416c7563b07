#include "shared/store/tenants/tenant_look.hpp"

#include <algorithm>

#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script keep_scheduler_lock, enter_filled_tenants, forget_idle_tenants;
}

namespace {

constexpr std::size_t names_at_once = 500;
constexpr std::int64_t seconds_off_list = 60;

void add_queues(ScriptCall& call, const std::vector<std::string>& queues) {
  for (const std::string& queue : queues) {
    call.keys.push_back(keys::queue(queue));
    call.args.push_back(queue);
  }
}

}  // namespace

std::vector<Command> take_tenants_watch(std::string_view identity, std::chrono::milliseconds lifetime) {
  return {{"SET", keys::brood_tenants_watch, identity, "NX", "PX", std::to_string(lifetime.count())},
          {"GET", keys::brood_tenants_watch}};
}

bool read_has_tenants_watch(ReplyView last, std::string_view identity) {
  return last.is_string() && last.text() == identity;
}

Command keep_tenants_watch(std::string_view identity, std::chrono::milliseconds lifetime) {
  const ScriptCall call{&scripts::keep_scheduler_lock,
                        {keys::brood_tenants_watch},
                        {std::string(identity), std::to_string(lifetime.count())}};
  return call.command();
}

Command leave_tenants_watch() { return {"DEL", keys::brood_tenants_watch}; }

Command count_filled(const std::vector<std::string>& queues) {
  Command command{"EXISTS"};
  for (const std::string& queue : queues) command.add(keys::queue(queue));
  return command;
}

ScriptCall enter_filled_tenants(const std::vector<std::string>& queues) {
  ScriptCall call{&scripts::enter_filled_tenants, {}, {}};
  for (const std::string& queue : queues) call.keys.push_back(keys::queue(queue));
  return call;
}

Command note_idle_tenants(const std::vector<std::string>& queues, std::int64_t now_s) {
  Command command{"ZADD", keys::brood_tenants_idle, "NX"};
  for (const std::string& queue : queues) command.add(std::to_string(now_s)).add(queue);
  return command;
}

std::vector<Command> ask_idle_tenants(std::int64_t now_s, std::int64_t idle_for_s, std::size_t most) {
  const std::string first_off_list = std::to_string(-(now_s - seconds_off_list)), limit = std::to_string(most);
  const std::string last_idle = std::to_string(now_s - idle_for_s);
  return {{"ZRANGEBYSCORE", keys::brood_tenants_idle, first_off_list, "(0", "LIMIT", "0", limit},
          {"ZRANGEBYSCORE", keys::brood_tenants_idle, "0", last_idle, "LIMIT", "0", limit}};
}

ScriptCall forget_idle_tenants(const std::vector<std::string>& queues, std::int64_t now_s) {
  ScriptCall call{&scripts::forget_idle_tenants,
                  {keys::brood_tenants_idle, keys::queues, keys::brood_set_aside},
                  {std::to_string(now_s), std::to_string(seconds_off_list)}};
  add_queues(call, queues);
  return call;
}

std::vector<Command> publish_queue_names(const std::vector<std::string>& names) {
  const FixedKey next = keys::brood_queues_next;
  std::vector<Command> commands{{"DEL", next}};
  for (std::size_t i = 0; i < names.size(); i += names_at_once) {
    Command add{"SADD", next};
    for (std::size_t j = i; j < std::min(i + names_at_once, names.size()); ++j) add.add(names[j]);
    commands.push_back(std::move(add));
  }
  commands.push_back({"EXPIRE", next, "3600"});
  commands.push_back({"RENAME", next, keys::brood_queues});
  return commands;
}

bool has_names(ReplyView published) { return published.is_array() && published.size() > 0; }

Command ask_published_queue_names() { return {"SMEMBERS", keys::brood_queues}; }

}  // namespace brood
