#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/api/process_record.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/in_flight/caps.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "shared/store/in_flight/lock_list.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"
#include "shared/store/queues/all_queue_names.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/work_entries.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sequences/sequences.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "supervisor/cli/access/ask_published_classes.hpp"
#include "supervisor/cli/access/control_client.hpp"
#include "supervisor/cli/access/fleet.hpp"
#include "supervisor/cli/access/machine_status.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/served_queues.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// Short: a user has pressed Tab and waits.
constexpr Connection::Timeouts patience{.connect = 300ms, .command = 500ms};
constexpr std::size_t most_names = 200;

using Names = std::set<std::string>;

void add_names(Connection& redis, const Command& ask, Names& names) {
  for (std::string& name : read_name_list_if_told(redis.call(ask).view()).value_or(std::vector<std::string>()))
    names.insert(std::move(name));
}

void add_jids(Connection& redis, std::string_view set, Names& names) {
  const Reply reply = redis.call(ask_highest_members(set, most_names));
  for (const std::string_view payload : read_members(reply.view())) {
    try {
      names.insert(JsonObject::parse(payload).string("jid").value_or(""));
    } catch (const BadJson&) {
    }
  }
}

void add_queues(Connection& redis, Names& names) {
  names.merge(all_queue_names(redis));
  names.merge(ask_served_queues(redis).names);
}

void add_limits(Connection& redis, Names& names) {
  const Reply caps = redis.call(ask_caps());
  for (const auto& [name, places] : read_caps(caps.view())) names.insert(name);
  add_names(redis, ask_limit_names(), names);
}

// Heartbeats are up to ten seconds old; the scoreboards of this machine are current.
Names running_here() {
  Names names;
  for (const WorkerStatus& worker : read_scoreboards(runtime_directory()).workers) names.insert(worker.jid);
  return names;
}

void add_running(Connection& redis, Names& names) {
  Names processes;
  add_names(redis, ask_processes(), processes);
  std::vector<Command> commands;
  for (const std::string& process : processes) commands.push_back(ask_running(process));
  for (const Reply& running : redis.pipeline(commands)) {
    for (const std::string& entry : read_running(running.view())) {
      if (const auto work = read_work("", "", entry)) names.insert(work->job.jid);
    }
  }
}

// Reads the names of capsules from the heartbeats.
void add_capsules(Connection& redis, Names& names) {
  Names processes;
  add_names(redis, ask_processes(), processes);
  std::vector<Command> commands;
  for (const std::string& process : processes) commands.push_back(ask_info(process));
  for (const Reply& info : redis.pipeline(commands)) {
    if (!info.view().is_string()) continue;
    try {
      const JsonObject told = JsonObject::parse(info.view().text());
      const auto capsules = told.raw("capsules");
      if (!capsules) continue;
      for (const JsonOutline::Part& capsule : JsonOutline::of(*capsules).parts) names.insert(capsule.key);
    } catch (const BadJson&) {
    }
  }
}

// The words that `brood locks show` takes: the part of a key behind its last colon, and the holder.
void add_locks(Connection& redis, Names& names) {
  if (!count_locks(redis)) return;  // too many keys to look through
  for (const UniqueLock& lock : all_locks(redis, most_names)) {
    names.insert(lock.key.substr(lock.key.rfind(':') + 1));
    names.insert(lock.jid);
  }
}

void add_published(Connection& redis, Names& names);

const std::map<std::string, std::function<void(Connection&, Names&)>> in_redis = {
    {"batches",
     [](Connection& redis, Names& names) {
       const Reply reply = redis.call(ask_batches(0, most_names));
       for (std::string& bid : read_batches(reply.view())) names.insert(std::move(bid));
     }},
    {"limits", add_limits},
    {"published", add_published},
    {"locks", add_locks},
    {"running", add_running},
    {"capsules", add_capsules},
    {"crashes",
     [](Connection& redis, Names& names) {
       for (Crash& crash : read_crashes(redis)) names.insert(std::move(crash.fingerprint));
     }},
    {"quarantined",
     [](Connection& redis, Names& names) {
       const Reply reply = redis.call(ask_quarantined());
       for (const auto& [name, why] : read_quarantined(reply.view())) names.insert(name);
     }},
    {"queues", add_queues},
    {"sequences",
     [](Connection& redis, Names& names) {
       const Reply page = redis.run(sequence_page(first_sequence_page));
       for (SequenceState& sequence : read_sequence_page(page.view()).sequences) names.insert(std::move(sequence.name));
     }},
    {"retries", [](Connection& redis, Names& names) { add_jids(redis, retry_set, names); }},
    {"scheduled", [](Connection& redis, Names& names) { add_jids(redis, scheduled_set, names); }},
    {"dead", [](Connection& redis, Names& names) { add_jids(redis, dead_set, names); }},
    {"processes", [](Connection& redis, Names& names) { add_names(redis, ask_processes(), names); }},
    {"paused_classes", [](Connection& redis, Names& names) { add_names(redis, ask_paused_classes(), names); }},
    {"periodic", [](Connection& redis, Names& names) { add_names(redis, ask_periodic_names(), names); }},
    {"supervisors", [](Connection& redis, Names& names) { add_names(redis, ask_owners(), names); }},
};

// Suggestions for an argument: its values if they are few, else its name and kind, "width:integer".
void add_argument(Connection& redis, const std::string& job_class, std::size_t place, Names& names) {
  const auto said = ask_published_classes(redis).find(job_class);
  if (said.empty() || place >= said.front().known.fields.size()) return;
  const PublishedClass::Field& field = said.front().known.fields[place];
  if (field.type.kind == FieldType::Kind::boolean) {
    names = {"true", "false"};
  } else if (field.type.kind == FieldType::Kind::one_of) {
    names.insert(field.type.names.begin(), field.type.names.end());
  } else {
    names.insert(field.name + ":" + std::string(field.type.kind_name()));
  }
}

void add_published(Connection& redis, Names& names) {
  for (std::string& name : ask_published_classes(redis).names()) names.insert(std::move(name));
}

Names names_here(const std::string& kind) {
  Names names;
  if (kind == "classes") {
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

// Prints the names that shell completions offer, one a line.  A shell may expand what it reads, so only safe names are
// printed.
int names_command(const std::vector<std::string>& args) {
  RedisAccess access;
  CommandLine line("Names for completions: brood names KIND", "brood names");
  access.add_options(line);
  const std::vector<std::string> words = line.parse(args);
  const bool of_argument = words.size() == 3 && words[0] == "arguments";
  if (words.size() != 1 && !of_argument) throw UsageError("give the kind of names");
  Names names;
  if (of_argument) {
    ShardConnections shards(access, patience, "brood-names");
    const auto place = leading_number<std::size_t>(words[2]);
    shards.any([&](ShardConnections::Shard& shard) {
      add_argument(shard.redis, words[1], place, names);
      return !names.empty();
    });
  } else if (const auto kind = in_redis.find(words[0]); kind != in_redis.end()) {
    if (words[0] == "running") names = running_here();
    if (words[0] == "published") names = names_here("classes");
    try {
      ShardConnections shards(access, patience, "brood-names");
      shards.each([&](ShardConnections::Shard& shard) { kind->second(shard.redis, names); });
    } catch (const ConnectionLost&) {
      if (names.empty()) throw;
    }
  } else if (words[0] == "shards") {
    for (RedisAddress& shard : access.shards()) names.insert(std::move(shard.shard));
  } else {
    names = names_here(words[0]);
  }
  std::string text;
  std::size_t said = 0;
  for (const std::string& name : names) {
    if (is_safe_queue(name) && said++ < most_names) text += name + "\n";
  }
  print(text);
  return exit_status::ok;
}

}  // namespace brood
