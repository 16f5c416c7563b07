#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shared/base/paths.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/keys.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/control_client.hpp"
#include "supervisor/cli/fleet.hpp"
#include "supervisor/cli/machine_status.hpp"
#include "supervisor/cli/redis_access.hpp"
#include "supervisor/cli/served_queues.hpp"
#include "supervisor/cli/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// Short: somebody has pressed Tab and waits.
constexpr Connection::Timeouts patience{.connect = 300ms, .command = 500ms};
constexpr std::size_t most_names = 200;

using Names = std::set<std::string>;

void add_texts(ReplyView list, Names& names) {
  for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
    if (list[i].is_string()) names.emplace(list[i].text());
  }
}

void add_jids(Connection& redis, std::string_view set, Names& names) {
  const Reply entries = redis.call({"ZREVRANGE", set, "0", std::to_string(most_names - 1)});
  for (std::size_t i = 0; entries.view().is_array() && i < entries.view().size(); ++i) {
    try {
      names.insert(JsonObject::parse(entries.view()[i].text()).string("jid").value_or(""));
    } catch (const BadJson&) {
    }
  }
}

void add_queues(Connection& redis, Names& names) {
  add_texts(redis.call({"SMEMBERS", keys::queues}).view(), names);
  names.merge(ask_served_queues(redis).names);
}

const std::map<std::string, std::function<void(Connection&, Names&)>> in_redis = {
    {"queues", add_queues},
    {"retries", [](Connection& redis, Names& names) { add_jids(redis, keys::retry, names); }},
    {"scheduled", [](Connection& redis, Names& names) { add_jids(redis, keys::schedule, names); }},
    {"dead", [](Connection& redis, Names& names) { add_jids(redis, keys::dead, names); }},
    {"processes",
     [](Connection& redis, Names& names) {
       add_texts(redis.call({"SMEMBERS", keys::processes}).view(), names);
     }},
    {"supervisors",
     [](Connection& redis, Names& names) {
       add_texts(redis.call({"HKEYS", keys::brood_processes}).view(), names);
     }},
};

Names names_here(const std::string& kind) {
  Names names;
  if (kind == "running") {
    for (const WorkerStatus& worker : read_scoreboards(runtime_directory()).workers) names.insert(worker.jid);
  } else if (kind == "classes") {
    for (const ClassUsage& used : read_scoreboards(runtime_directory()).classes) names.insert(used.job_class);
  } else if (kind == "instances") {
    for (const LocalSupervisor& one : local_supervisors(runtime_directory())) names.insert(one.instance);
  } else if (kind == "pids") {
    for (const LocalSupervisor& one : local_supervisors(runtime_directory())) names.insert(std::to_string(one.pid));
  } else {
    throw UsageError("there are no names of that kind");
  }
  return names;
}

}  // namespace

// Prints what the completions of shells offer, one name a line.  A shell may expand what it reads, so only safe names
// are printed.
int names_command(const std::vector<std::string>& args) {
  RedisAccess access;
  CommandLine line("Names for completions: brood names KIND", "brood names");
  access.add_options(line);
  const std::vector<std::string> words = line.parse(args);
  if (words.size() != 1) throw UsageError("say which names");
  Names names;
  if (const auto kind = in_redis.find(words[0]); kind != in_redis.end()) {
    Connection redis(access.locate(), patience, "brood-names");
    kind->second(redis, names);
  } else {
    names = names_here(words[0]);
  }
  std::string text;
  std::size_t said = 0;
  for (const std::string& name : names) {
    if (is_safe_name(name) && said++ < most_names) text += name + "\n";
  }
  print(text);
  return exit_status::ok;
}

}  // namespace brood
