#include "shared/store/tenants/tenants.hpp"

#include "shared/store/keys.hpp"

namespace brood {
namespace {

void add_list(std::vector<std::string>& args, const std::vector<std::string>& list) {
  args.insert(args.end(), list.begin(), list.end());
  args.push_back(std::to_string(list.size()));
}

// A cap of classes holds in the queues that stand beside those of tenants: "images~acme@heavy".
void add_caps_of_tenants(ScriptCall& call, const std::vector<CapSettings>& caps, std::string_view entry) {
  std::size_t count = 0;
  const auto add = [&](const CapSettings& cap, std::string_view of, std::string name) {
    call.args.emplace_back(of);
    call.args.push_back(std::move(name));
    call.args.push_back(std::to_string(cap.most));
    call.keys.push_back(keys::cap(cap.name));
    ++count;
  };
  const std::string_view base = base_of_tenants(entry);
  for (const CapSettings& cap : caps) {
    if (!cap.classes.empty()) {
      if (cap.may_set_aside_of_tenants(base)) add(cap, "ends", "@" + cap.name);
      continue;
    }
    if (cap.per_tenant && cap.names(all_tenants_of(base))) add(cap, "each", "");
    for (const std::string& queue : cap.queues) {
      const auto tenant = tenant_in(queue);
      // If the cap is shared with other queues, this tenant must find a place that another of them frees.
      const char* const of = cap.queues.size() == 1 ? "is" : "among";
      if (tenant && !is_tenants(queue) && tenant->base == base) add(cap, of, std::string(tenant->tenant));
    }
  }
  call.args.push_back(std::to_string(count));
}

}  // namespace

RedisKey key_of_jobs(std::string_view entry) {
  return is_tenants(entry) ? keys::tenants(base_of_tenants(entry)) : keys::queue(entry);
}

void add_tenants(ScriptCall& settle_and_fetch, const ServedTenants& served, const std::vector<CapSettings>* caps,
                 std::span<const std::string> queues_asked) {
  static const std::vector<CapSettings> no_caps;
  std::vector<std::string>& args = settle_and_fetch.args;
  std::size_t count = 0;
  static const TenantRules all;
  for (std::size_t i = 0; i < queues_asked.size(); ++i) {
    if (!is_tenants(queues_asked[i])) continue;
    const auto found = served.find(queues_asked[i]);
    const TenantRules& rules = found == served.end() ? all : found->second;
    add_list(args, rules.taken);
    add_list(args, rules.skipped);
    add_caps_of_tenants(settle_and_fetch, caps == nullptr ? no_caps : *caps, queues_asked[i]);
    args.push_back(rules.weights);
    args.emplace_back(base_of_tenants(queues_asked[i]));
    args.push_back(std::to_string(i + 1));
    ++count;
  }
  if (count == 0) return;
  args.push_back(std::to_string(count));
  args.emplace_back("~");
}

std::vector<Command> enter_tenants(const std::vector<std::string>& queues) {
  std::map<std::string_view, Command> by_base;
  for (const std::string& queue : queues) {
    const auto name = tenant_in(queue);
    if (!name) continue;
    const auto [command, added] = by_base.try_emplace(name->base, Command{"ZADD", keys::tenants(name->base), "NX"});
    command->second.add("0").add(name->tenant);
  }
  std::vector<Command> commands;
  for (auto& [base, command] : by_base) commands.push_back(std::move(command));
  return commands;
}

bool is_entrance_of_tenants(const Command& command) {
  return command.args.size() > 2 && command.args[0] == "ZADD" && command.args[2] == "NX";
}

}  // namespace brood
