// The classes whose jobs wait, since they crash again and again with the same libraries.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/in_flight/quarantine.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/count_text.hpp"
#include "supervisor/cli/iso_time.hpp"
#include "supervisor/cli/listing.hpp"
#include "supervisor/cli/redis_access.hpp"
#include "supervisor/cli/shard_connections.hpp"
#include "supervisor/cli/terminal.hpp"
#include "supervisor/cli/verb.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t waiting_read_at_once = 500;

constexpr const char* quarantine_footer =
    R"(A class is in quarantine once it has crashed [crashes] quarantine_after times at one place within the time; see
brood.toml(5).  Its jobs wait, and are tried one by one when other libraries come, until three have not crashed.
release puts them back to their queues now.

Exit status: 0; 64 usage; 69 Redis is not available; 75 no such class is in quarantine, and none of its jobs wait.)";

struct QuarantineOrder {
  RedisAccess redis;
  std::vector<std::string> classes;
  bool json = false;
};

ShardConnections connect_to(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-quarantine");
}

// What waits, the newest first; no job: somebody else has put it there.
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

int list_quarantine(const QuarantineOrder& order) {
  refuse_arguments(order.classes);
  ShardConnections shards = connect_to(order.redis);
  const auto classes = listed_classes(shards);
  if (order.json) {
    JsonArray array;
    for (const auto& [name, one] : classes)
      array.add(JsonWriter()
                    .text("class", name)
                    .number("waiting", one.waiting)
                    .text("fingerprint", one.known.fingerprint)
                    .text("libraries", one.known.libraries)
                    .decimal("since", one.known.since)
                    .number("crashes", one.known.crashes)
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

// First the classes, or a worker would let the jobs wait again.  Workers put back jobs of free classes too: what is
// told is how many waited.
int release_quarantine(const QuarantineOrder& order) {
  if (order.classes.empty()) throw UsageError("the class is missing");
  ShardConnections shards = connect_to(order.redis);
  auto listed = listed_classes(shards);
  const auto is_wanted = [&](const std::string& name) {
    return std::find(order.classes.begin(), order.classes.end(), name) != order.classes.end();
  };
  shards.each([&](ShardConnections::Shard& shard) {
    const Reply reply = shard.redis.call(ask_quarantined());
    const QuarantinedClasses here = read_quarantined(reply.view());
    for (const std::string& name : order.classes) {
      const auto one = here.find(name);
      if (one != here.end()) shard.redis.call(forget_quarantine_crashes(one->second.fingerprint));
      shard.redis.call(lift_quarantine(name));
    }
    for (const WaitingJob& job : all_waiting(shard.redis)) {
      if (is_wanted(job.job_class)) send(shard.redis, release_quarantined(job.payload, job.queue)).view().integer();
    }
  });
  int status = exit_status::ok;
  for (const std::string& name : order.classes) {
    const auto one = listed.find(name);
    if (one == listed.end()) {
      fmt::print(stderr, "brood quarantine: {} is not in quarantine\n", log::printable(name));
      status = exit_status::try_again;
      continue;
    }
    const std::int64_t jobs = one->second.waiting;
    if (order.json)
      print_json(JsonWriter().text("class", name).number("released", jobs).object() + "\n");
    else
      print(fmt::format("released {}: {}\n", log::printable(name),
                        counted(static_cast<std::size_t>(jobs), "job", "jobs")));
  }
  return status;
}

}  // namespace

int quarantine_command(const std::vector<std::string>& args) {
  static const std::vector<VerbFor<QuarantineOrder>> verbs = {
      {{"list", "", "show the classes, and how many jobs of each wait", {}}, list_quarantine},
      {{"release", "CLASS...", "let their jobs run again", {}}, release_quarantine}};
  QuarantineOrder order;
  CommandLine line("Classes whose jobs wait since they crash: brood quarantine [VERB] [CLASS...] [OPTIONS]",
                   "brood quarantine");
  line.flag("--json", order.json, "Answer in JSON, for programs");
  order.redis.add_options(line);
  const std::vector<Verb> says = only_verbs(verbs);
  line.footer(help_on("quarantine", says) + "\n" + quarantine_footer);
  order.classes = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.classes);
  return verbs[verb].obey(order);
}

}  // namespace brood
