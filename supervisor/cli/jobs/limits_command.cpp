#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/names_command.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/lists/limit_list.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr const char* limits_footer =
    R"(A limit is a brood::Limiter of jobs, or a cap of queues: [limits.NAME] in brood.toml(5).  It is listed from
its first use, a limiter until it was not used for its ttl (90 days).  HELD is the number of slots or places of running
jobs, or the used part of its interval.  reset clears that part and the counts; slots and places stay with the jobs
that hold them.

Exit status: 0; 64 usage; 69 Redis is not available; 75 there is no limit of that name.)";

ShardConnections connect_for_limits(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-limits");
}

std::vector<ListedLimit> all_limits(ShardConnections& shards) {
  std::vector<ListedLimit> limits;
  shards.each([&](ShardConnections::Shard& shard) {
    for (ListedLimit& limit : list_limits_of(shard)) limits.push_back(std::move(limit));
  });
  return limits;
}

std::vector<ListedLimit> limits_named(ShardConnections& shards, const std::string& name) {
  std::vector<ListedLimit> limits;
  shards.each([&](ShardConnections::Shard& shard) {
    for (ListedLimit& limit : find_limits(shard, name)) limits.push_back(std::move(limit));
  });
  return limits;
}

int list_limits(const NamesOrder& order) {
  refuse_arguments(order.names);
  ShardConnections shards = connect_for_limits(order.redis);
  const std::vector<ListedLimit> limits = all_limits(shards);
  if (order.json) {
    JsonArray array;
    for (const ListedLimit& limit : limits) array.add(limit.json());
    array.end();
    return exit_status::ok;
  }
  using Align = Table::Align;
  std::vector<Table::Column> columns = {{"NAME"},
                                        {"KIND"},
                                        {"LIMIT", Align::right},
                                        {"HELD", Align::right},
                                        {"TAKEN", Align::right},
                                        {"WAITED", Align::right},
                                        {"OVER", Align::right}};
  const bool has_shards = shards.size() > 1;
  if (has_shards) columns.insert(columns.begin(), {"SHARD"});
  Table table(std::move(columns));
  for (const ListedLimit& limit : limits) {
    const auto count = [&](std::int64_t ListedLimit::Counts::*member) {
      return limit.counts ? std::to_string((*limit.counts).*member) : "";
    };
    std::vector<std::string> row = {log::printable(limit.name),
                                    limit.kind,
                                    limit.limit_text(),
                                    std::to_string(limit.held),
                                    count(&ListedLimit::Counts::taken),
                                    count(&ListedLimit::Counts::waited),
                                    count(&ListedLimit::Counts::over)};
    if (has_shards) row.insert(row.begin(), limit.shard);
    table.add(std::move(row));
  }
  print(table.empty() ? "No limit was used yet.\n" : table.text(Style::of_standard_output()));
  return exit_status::ok;
}

std::string the_only_name(const NamesOrder& order) {
  if (order.names.size() != 1) throw UsageError("give the name of one limit");
  return order.names[0];
}

int no_such_limit(const std::string& name) {
  fmt::print(stderr, "brood limits: there is no limit {}\n", log::printable(name));
  return exit_status::try_again;
}

std::string text_of_limit(const ListedLimit& limit) {
  std::string text = fmt::format("{}: {}, {}\n", log::printable(limit.name), limit.kind, limit.limit_text());
  if (!limit.shard.empty()) text += fmt::format("  shard      {}\n", limit.shard);
  text += fmt::format("  held       {}\n", limit.held);
  if (const auto& counts = limit.counts) {
    text += fmt::format("  taken      {}\n", counts->taken);
    text += fmt::format("  waited     {} times, {:.1f}s in all\n", counts->waited,
                        static_cast<double>(counts->waited_ms) / 1000);
    text += fmt::format("  over       {} times\n", counts->over);
    text += fmt::format("  reclaimed  {} of holders that ended without releasing them\n", counts->reclaimed);
  }
  for (const std::string& holder : limit.holders) text += fmt::format("  held by    {}\n", log::printable(holder));
  return text;
}

// A limit and a cap may have the same name.
int show_one_limit(const NamesOrder& order) {
  const std::string name = the_only_name(order);
  ShardConnections shards = connect_for_limits(order.redis);
  const std::vector<ListedLimit> limits = limits_named(shards, name);
  if (limits.empty()) return no_such_limit(name);
  for (const ListedLimit& limit : limits) {
    if (order.json)
      print_json(limit.json(true) + "\n");
    else
      print(text_of_limit(limit));
  }
  return exit_status::ok;
}

int reset_one_limit(const NamesOrder& order) {
  const std::string name = the_only_name(order);
  ShardConnections shards = connect_for_limits(order.redis);
  if (limits_named(shards, name).empty()) return no_such_limit(name);
  std::int64_t held = 0;
  shards.each([&](ShardConnections::Shard& shard) { held += reset_limits(shard, name); });
  if (order.json)
    print_json(JsonWriter().text("name", name).number("held", held).object() + "\n");
  else
    print(fmt::format("reset {}: {} held by running jobs\n", log::printable(name), held));
  return exit_status::ok;
}

}  // namespace

int limits_command(const std::vector<std::string>& args) {
  static const NamesCommand command = {
      "limits",
      "Limits of concurrency and rate",
      "[NAME]",
      limits_footer,
      {{{"list", "", "show the limits, and how much of each is held", {}}, list_limits},
       {{"show", "NAME", "show one of them, and its holders", {}}, show_one_limit},
       {{"reset", "NAME", "clear the used part of its interval, and its counts", {}}, reset_one_limit}}};
  return obey(command, args);
}

}  // namespace brood
