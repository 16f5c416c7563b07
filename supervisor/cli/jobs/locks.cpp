// `brood locks`: the locks of unique jobs, with their holders, and those without one.

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/names_command.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/lists/lock_list.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr const char* locks_footer =
    R"(A unique job holds its lock from its push until it starts, or has ended; with UniqueUntil::running while it
runs.  KEY is the lock's key, or the part behind its last colon, or the jid of the job that holds it.

check releases locks whose jobs have gone: Sidekiq's own pages delete jobs without their locks.  Supervisors do the
same once an hour.

Exit status: 0; 64 usage; 69 Redis is not available; 75 there is no such lock.)";

ShardConnections locks_connection(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 10s}, "brood-locks");
}

bool is_meant(const UniqueLock& lock, const std::string& name) {
  return lock.key == name || lock.key.substr(lock.key.rfind(':') + 1) == name || lock.jid == name;
}

void print_locks(const NamesOrder& order, const std::vector<UniqueLock>& locks, const char* none) {
  if (order.json) {
    JsonArray array;
    for (const UniqueLock& lock : locks) array.add(lock_json(lock));
    array.end();
    return;
  }
  Table table({{"KEY"}, {"JID"}, {"CLASS"}, {"QUEUE"}, {"UNTIL"}, {"EXPIRES IN", Table::Align::right}});
  for (const UniqueLock& lock : locks)
    table.add({lock.key, lock.jid, lock.has_job ? lock.job_class : "(no job)", lock.queue, lock.until,
               lock.expires_in_ms ? fmt::format("{}s", *lock.expires_in_ms / 1000) : ""});
  print(table.empty() ? none : table.text(Style::of_standard_output()));
}

int list_locks(const NamesOrder& order) {
  refuse_arguments(order.names);
  ShardConnections shards = locks_connection(order.redis);
  print_locks(order, list_locks_with_jobs(shards), "No job holds a lock.\n");
  return exit_status::ok;
}

int no_such_lock(const std::string& name) {
  fmt::print(stderr, "brood locks: there is no lock {}\n", log::printable(name));
  return exit_status::try_again;
}

int show_locks(const NamesOrder& order) {
  if (order.names.empty()) throw UsageError("the lock is missing");
  ShardConnections shards = locks_connection(order.redis);
  const std::vector<UniqueLock> all = list_locks_with_jobs(shards);
  std::vector<UniqueLock> meant;
  int status = exit_status::ok;
  for (const std::string& name : order.names) {
    const std::size_t before = meant.size();
    for (const UniqueLock& lock : all) {
      if (is_meant(lock, name)) meant.push_back(lock);
    }
    if (meant.size() == before) status = no_such_lock(name);
  }
  if (!meant.empty() || order.json) print_locks(order, meant, "");
  return status;
}

int release_locks(const NamesOrder& order) {
  if (order.names.empty()) throw UsageError("the lock is missing");
  ShardConnections shards = locks_connection(order.redis);
  std::vector<UniqueLock> released;
  std::vector<bool> found(order.names.size());
  shards.each([&](ShardConnections::Shard& shard) {
    for (UniqueLock& lock : all_locks(shard.redis)) {
      for (std::size_t i = 0; i < order.names.size(); ++i) {
        if (!is_meant(lock, order.names[i]) || !release_lock(shard.redis, lock)) continue;
        found[i] = true;
        released.push_back(lock);
        break;
      }
    }
  });
  int status = exit_status::ok;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) status = no_such_lock(order.names[i]);
  }
  if (order.json) {
    print_locks(order, released, "");
  } else {
    for (const UniqueLock& lock : released)
      print(fmt::format("released {}, which {} held\n", log::printable(lock.key), log::printable(lock.jid)));
  }
  return status;
}

int check_locks(const NamesOrder& order) {
  refuse_arguments(order.names);
  ShardConnections shards = locks_connection(order.redis);
  std::vector<UniqueLock> let_go;
  shards.each([&](ShardConnections::Shard& shard) {
    for (UniqueLock& lock : let_go_of_abandoned_locks(shard.redis)) let_go.push_back(std::move(lock));
  });
  print_locks(order, let_go, "Each lock is held by a job.\n");
  if (!order.json && !let_go.empty())
    print(fmt::format("{} released.\n", counted(let_go.size(), "lock without a job was", "locks without a job were")));
  return exit_status::ok;
}

}  // namespace

int locks_command(const std::vector<std::string>& args) {
  static const NamesCommand command = {
      "locks",
      "Locks of unique jobs",
      "[KEY...]",
      locks_footer,
      {{{"list", "", "show the locks, and the jobs that hold them", {}}, list_locks},
       {{"show", "KEY...", "show these", {}}, show_locks},
       {{"release", "KEY...", "release these, whatever their jobs do", {}}, release_locks},
       {{"check", "", "release those that no job holds any more", {}}, check_locks}}};
  return obey(command, args);
}

}  // namespace brood
