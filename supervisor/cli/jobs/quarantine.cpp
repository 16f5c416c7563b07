// `brood quarantine`: classes whose jobs must wait, since they crash again and again with the same libraries.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/in_flight/quarantine.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/names_command.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t waiting_read_at_once = 500;

constexpr const char* quarantine_footer =
    R"(A class is in quarantine once it has crashed [crashes] quarantine_after times at one place within the time; see
brood.toml(5).  Its jobs wait, and are tried one by one when other libraries come, until three have not crashed.
release puts them back to their queues now: those of a class, or of each class that crashed with that fingerprint, of
which the first 4 characters or more will do.

Exit status: 0; 64 usage; 69 Redis is not available; 75 nothing of that name is in quarantine, and no job of it waits.)";

ShardConnections connect_to(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-quarantine");
}

constexpr std::size_t least_of_a_fingerprint = 4;

// The jobs that wait, the newest first.  An entry that is no job was put there by another program, and is left out.
struct WaitingJob {
  std::string payload, job_class, queue;
};

std::vector<WaitingJob> all_waiting(Connection& redis) {
  std::vector<WaitingJob> jobs;
  for (std::size_t first = 0;; first += waiting_read_at_once) {
    const Reply page = redis.call(
        ask_entries_at(quarantined_set, std::to_string(first), std::to_string(first + waiting_read_at_once - 1), true));
    const std::vector<EntryAsRead> entries = read_entries_as_read(page.view());
    for (const EntryAsRead& entry : entries) try {
        const Payload job = Payload::parse(std::string(entry.member));
        jobs.push_back({std::string(entry.member), job.job_class(), job.string("queue").value_or("default")});
      } catch (const BadPayload&) {
        jobs.push_back({std::string(entry.member), "", ""});
      }
    if (entries.size() < waiting_read_at_once) return jobs;
  }
}

// A class may be free again while some of its jobs still wait.
struct ListedClass {
  QuarantinedClass known;
  std::int64_t waiting = 0;
};

std::map<std::string, ListedClass> listed_classes(ShardConnections& shards) {
  std::map<std::string, ListedClass> classes;
  shards.each([&](ShardConnections::Shard& shard) {
    const Reply known = shard.redis.call(ask_quarantined());
    for (auto& [name, one] : read_quarantined(known.view())) {
      QuarantinedClass& all = classes[name].known;
      const std::int64_t crashes = all.crashes + one.crashes;
      if (one.since > all.since) all = one;
      all.crashes = crashes;
    }
    for (const WaitingJob& job : all_waiting(shard.redis)) ++classes[job.job_class].waiting;
  });
  return classes;
}

std::string since_text(double since) {
  return since > 0 ? iso_time(WallTime{std::chrono::nanoseconds(static_cast<std::int64_t>(since * 1e9))}) : "";
}

int list_quarantine(const NamesOrder& order) {
  refuse_arguments(order.names);
  ShardConnections shards = connect_to(order.redis);
  const auto classes = listed_classes(shards);
  if (order.json) {
    JsonArray array;
    for (const auto& [name, one] : classes)
      array.add(JsonWriter()
                    .text("fingerprint", one.known.fingerprint)
                    .text("class", name)
                    .number("count", one.known.crashes)
                    .decimal("since", one.known.since)
                    .number("waiting", one.waiting)
                    .text("libraries", one.known.libraries)
                    .number("passed", one.known.passed)
                    .object());
    array.end();
    return exit_status::ok;
  }
  Table table({{"CLASS"},
               {"WAITING", Table::Align::right},
               {"SINCE"},
               {"CRASHES", Table::Align::right},
               {"FINGERPRINT"},
               {"TRIED", Table::Align::right}});
  for (const auto& [name, one] : classes)
    table.add({name.empty() ? "(no job)" : name, grouped(static_cast<std::size_t>(one.waiting)),
               since_text(one.known.since), one.known.crashes > 0 ? std::to_string(one.known.crashes) : "",
               one.known.fingerprint, fmt::format("{} of {}", one.known.passed, probes_needed)});
  print(table.empty() ? "No class is in quarantine.\n" : table.text(Style::of_standard_output()));
  return exit_status::ok;
}

// The classes that a name means: the class of that name, else those that crashed with the fingerprint.
std::vector<std::string> classes_meant(const std::string& name, const std::map<std::string, ListedClass>& listed) {
  if (listed.contains(name)) return {name};
  std::vector<std::string> meant;
  if (name.size() < least_of_a_fingerprint) return meant;
  for (const auto& [job_class, one] : listed) {
    if (one.known.fingerprint.starts_with(name)) meant.push_back(job_class);
  }
  return meant;
}

void tell_released(const NamesOrder& order, const std::string& job_class, const ListedClass& one) {
  if (order.json)
    print_json(JsonWriter()
                   .text("class", job_class)
                   .text("fingerprint", one.known.fingerprint)
                   .number("released", one.waiting)
                   .object() +
               "\n");
  else
    print(fmt::format("released {}: {}\n", log::printable(job_class),
                      counted(static_cast<std::size_t>(one.waiting), "job", "jobs")));
}

// Releases the classes first, or a worker would put the jobs back into quarantine.  Workers release jobs of free
// classes too, so we print how many jobs had waited.
int release_quarantine(const NamesOrder& order) {
  if (order.names.empty()) throw UsageError("the fingerprint, or the class, is missing");
  ShardConnections shards = connect_to(order.redis);
  const auto listed = listed_classes(shards);
  std::set<std::string> wanted, unknown;
  for (const std::string& name : order.names) {
    const std::vector<std::string> meant = classes_meant(name, listed);
    wanted.insert(meant.begin(), meant.end());
    if (meant.empty()) unknown.insert(name);
  }
  shards.each([&](ShardConnections::Shard& shard) {
    const Reply reply = shard.redis.call(ask_quarantined());
    const QuarantinedClasses here = read_quarantined(reply.view());
    for (const std::string& name : unknown) shard.redis.call(lift_quarantine(name));  // it may have come a moment ago
    for (const std::string& job_class : wanted) {
      const auto one = here.find(job_class);
      if (one != here.end()) shard.redis.call(forget_quarantine_crashes(one->second.fingerprint));
      shard.redis.call(lift_quarantine(job_class));
    }
    for (const WaitingJob& job : all_waiting(shard.redis)) {
      if (wanted.contains(job.job_class))
        send(shard.redis, release_quarantined(job.payload, job.queue)).view().integer();
    }
  });
  for (const std::string& name : unknown)
    fmt::print(stderr, "brood quarantine: {} is not in quarantine\n", log::printable(name));
  for (const std::string& job_class : wanted) tell_released(order, job_class, listed.at(job_class));
  return unknown.empty() ? exit_status::ok : exit_status::try_again;
}

}  // namespace

int quarantine_command(const std::vector<std::string>& args) {
  static const NamesCommand command = {
      "quarantine",
      "Classes whose jobs wait since they crash",
      "[FINGERPRINT|CLASS...]",
      quarantine_footer,
      {{{"list", "", "show the classes, and how many jobs of each wait", {}}, list_quarantine},
       {{"release", "FINGERPRINT|CLASS...", "let their jobs run again", {}}, release_quarantine}}};
  return obey(command, args);
}

}  // namespace brood
