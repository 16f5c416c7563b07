// `brood quarantine`: classes whose jobs must wait, because they crash again and again with the same libraries.

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/lenient.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/names_command.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/lists/quarantine_list.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr const char* quarantine_footer =
    R"(A class is in quarantine once it has crashed [crashes] quarantine_after times at one place within the time; see
brood.toml(5).  Its jobs wait, and are tried one by one with other libraries, until three have not crashed.
release puts them back to their queues now: those of a class, or of each class that crashed with this fingerprint (its
first 4 characters or more are enough).

Exit status: 0; 64 usage; 69 Redis is not available; 75 a class is not in quarantine, and no job of it waits.)";

ShardConnections connect_to(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-quarantine");
}

using Classes = decltype(QuarantineList::classes);

constexpr std::size_t least_of_a_fingerprint = 4;

std::string since_text(double since) { return since > 0 ? iso_time(lenient_moment(since)) : ""; }

int list_quarantine(const NamesOrder& order) {
  refuse_arguments(order.names);
  ShardConnections shards = connect_to(order.redis);
  const auto classes = list_quarantine(shards).classes;
  if (order.json) {
    JsonArray array;
    for (const auto& [name, one] : classes) array.add(quarantine_json(name, one));
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

// The classes that a name means: the class of that name, else the classes that crashed with that fingerprint.
std::vector<std::string> classes_meant(const std::string& name, const Classes& listed) {
  if (listed.contains(name)) return {name};
  std::vector<std::string> meant;
  if (name.size() < least_of_a_fingerprint) return meant;
  for (const auto& [job_class, one] : listed) {
    if (one.known.fingerprint.starts_with(name)) meant.push_back(job_class);
  }
  return meant;
}

void tell_released(const NamesOrder& order, const std::string& job_class, const ListedQuarantine& one) {
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
  const Classes listed = list_quarantine(shards).classes;
  std::set<std::string> wanted, unknown;
  ReleasedJobs done;
  for (const std::string& name : order.names) {
    const std::vector<std::string> meant = classes_meant(name, listed);
    wanted.insert(meant.begin(), meant.end());
    if (meant.empty()) unknown.insert(name);
  }
  shards.each([&](ShardConnections::Shard& shard) {
    const Reply reply = shard.redis.call(ask_quarantined());
    const QuarantinedClasses here = read_quarantined(reply.view());
    for (const std::string& name : unknown) shard.redis.call(lift_quarantine(name));  // it may have come since
    for (const std::string& job_class : wanted) free_class(shard.redis, job_class, here);
    done += release_jobs(shard.redis, [&](const QuarantinedJob& job) { return wanted.contains(job.job_class); });
  });
  for (const std::string& name : unknown)
    fmt::print(stderr, "brood quarantine: {} is not in quarantine\n", log::printable(name));
  for (const std::string& job_class : wanted) tell_released(order, job_class, listed.at(job_class));
  if (done.refused > 0) return say_refused("quarantine", done);
  return unknown.empty() ? exit_status::ok : exit_status::try_again;
}

}  // namespace

int quarantine_command(const std::vector<std::string>& args) {
  static const NamesCommand command = {
      "quarantine",
      "Classes whose jobs wait because they crash",
      "[FINGERPRINT|CLASS...]",
      quarantine_footer,
      {{{"list", "", "show the classes, and how many jobs of each wait", {}}, list_quarantine},
       {{"release", "FINGERPRINT|CLASS...", "let their jobs run again", {}}, release_quarantine}}};
  return obey(command, args);
}

}  // namespace brood
