// Jobs that run again and again by a rule.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/config/reading/periodic_zones.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/names_command.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/lists/periodic_list.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

constexpr int ticks_shown = 5;

constexpr const char* periodic_footer =
    R"(They are in [periodic.NAME] of the configuration, or registered by job libraries; see brood.toml(5).
With sidekiq_cron, list shows the schedules of that gem, too, by their keys, cron_job:NAMESPACE:NAME.
next and check read the configuration, so a rule can be checked before it holds; next searches Redis for a NAME
that is not in it.  Ticks during a pause are not made up for.

Exit status: 0; 64 usage; 69 Redis is not available; 75 no supervisor serves a job of that name, or the one before has
not ended; 78 the configuration cannot be used.)";

ShardConnections connect_to_shards(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-periodic");
}

int list_all_periodic(const NamesOrder& order) {
  refuse_arguments(order.names);
  const Config config = order.redis.configuration();
  ShardConnections shards = connect_to_shards(order.redis);
  const std::vector<ListedPeriodic> all = list_periodic(config, shards);
  if (order.json) {
    JsonArray array;
    for (const ListedPeriodic& one : all) array.add(one.json());
    array.end();
    return exit_status::ok;
  }
  Table table({{"NAME"}, {"CRON"}, {"ZONE"}, {"CLASS"}, {"NEXT"}, {"LAST"}, {"STATE"}});
  for (const ListedPeriodic& one : all) {
    const auto next = one.next_ticks(1);
    table.add({one.name, one.cron, one.zone, one.job_class, next.empty() ? "" : iso_time(WallTime(next.front())),
               one.known.last ? iso_time(WallTime(*one.known.last)) : "",
               one.known.paused ? "paused"
               : one.served     ? ""
                                : "not served"});
  }
  print(table.empty() ? "There is no periodic job.\n" : table.text(Style::of_standard_output()));
  return exit_status::ok;
}

// ---- next, check, history

const std::string& only_name(const NamesOrder& order) {
  if (order.names.empty()) throw UsageError("the name of a periodic job is missing");
  if (order.names.size() > 1) refuse_arguments({order.names[1]});
  return order.names.front();
}

bool is_of_gem(const std::string& name) { return name.starts_with("cron_job:"); }

int say_unknown(const std::string& name) {
  if (is_of_gem(name)) {
    fmt::print(
        stderr,
        "brood periodic: {} is a schedule of sidekiq-cron: the gem's tab in Sidekiq's Web UI shows, runs, enables "
        "and disables it\n",
        log::printable(name));
    return exit_status::try_again;
  }
  fmt::print(stderr, "brood periodic: no supervisor serves a job {}\n", log::printable(name));
  return exit_status::try_again;
}

void print_ticks(const ListedPeriodic& one, bool json) {
  const std::vector<sys_seconds> ticks = one.next_ticks(ticks_shown);
  if (json)
    return print_json(JsonWriter()
                          .text("name", one.name)
                          .text("cron", one.cron)
                          .text("tz", one.zone)
                          .each("next", ticks,
                                [&](sys_seconds tick) {
                                  return JsonWriter()
                                      .number("at", tick.time_since_epoch().count())
                                      .text("local", one.local_text(tick))
                                      .object();
                                })
                          .object() +
                      "\n");
  print(fmt::format("{}: {} in {}\n", log::printable(one.name), log::printable(one.cron), log::printable(one.zone)));
  for (const sys_seconds tick : ticks)
    print(fmt::format("  {}   {}\n", one.local_text(tick), iso_time(WallTime(tick))));
  if (ticks.empty()) print("  never\n");
}

int show_next(const NamesOrder& order) {
  const std::string& name = only_name(order);
  const auto configured = order.redis.configuration().periodic;
  check_zones(configured);
  if (const auto one = configured.find(name); one != configured.end()) {
    print_ticks(listed_periodic(name, one->second), order.json);
    return exit_status::ok;
  }
  ShardConnections shards = connect_to_shards(order.redis);
  const bool found =
      visit_periodic(shards, name, [&](Connection&, const ListedPeriodic& one) { print_ticks(one, order.json); });
  if (!found && is_of_gem(name)) {
    for (const ListedPeriodic& one : list_periodic(order.redis.configuration(), shards)) {
      if (one.name != name) continue;
      print_ticks(one, order.json);
      return exit_status::ok;
    }
  }
  return found ? exit_status::ok : say_unknown(name);
}

int check_periodic(const NamesOrder& order) {
  refuse_arguments(order.names);
  const auto configured = order.redis.configuration().periodic;
  check_zones(configured);
  for (const auto& [name, settings] : configured) print_ticks(listed_periodic(name, settings), order.json);
  if (configured.empty() && !order.json) print("There is no periodic job.\n");
  return exit_status::ok;
}

std::string history_line(const PastTick& past) {
  const auto text = [](const std::optional<WallTime>& moment) { return moment ? iso_time(*moment) : "by hand"; };
  return fmt::format("  {:<20}  {}  {}\n", text(past.tick), text(past.at),
                     past.jid.empty() ? "no job" : log::printable(past.jid));
}

int show_history(const NamesOrder& order) {
  const std::string& name = only_name(order);
  ShardConnections shards = connect_to_shards(order.redis);
  const bool found = visit_periodic(shards, name, [&](Connection& redis, const ListedPeriodic&) {
    JsonArray array;
    for (const PastTick& past : history_of_periodic(redis, name)) {
      if (order.json)
        array.add(past.json);
      else
        print(history_line(past));
    }
    if (order.json) array.end();
  });
  return found ? exit_status::ok : say_unknown(name);
}

// ---- run, pause, unpause

int run_periodic(const NamesOrder& order) {
  const std::string& name = only_name(order);
  int status = exit_status::ok;
  ShardConnections shards = connect_to_shards(order.redis);
  const bool found = visit_periodic(shards, name, [&](Connection& redis, const ListedPeriodic& one) {
    if (const auto jid = run_periodic_now(redis, one, "brood periodic run")) {
      if (order.json) return print_json(JsonWriter().text("name", name).text("jid", *jid).object() + "\n");
      return print(fmt::format("enqueued {} as {}\n", log::printable(one.job_class), *jid));
    }
    fmt::print(stderr, "brood periodic: the job of {} before has not ended\n", log::printable(name));
    status = exit_status::try_again;
  });
  return found ? status : say_unknown(name);
}

int set_paused(const NamesOrder& order, bool pauses) {
  if (order.names.empty()) throw UsageError("the name of a periodic job is missing");
  int status = exit_status::ok;
  for (const std::string& name : order.names) {
    ShardConnections shards = connect_to_shards(order.redis);
    const auto was_so = pause_periodic_of(shards, name, pauses);
    if (!was_so) {
      status = say_unknown(name);
    } else if (order.json) {
      print_json(JsonWriter().text("name", name).truth("paused", pauses).object() + "\n");
    } else {
      print(fmt::format("{} {}{}\n", log::printable(name), *was_so ? "was already " : "is ",
                        pauses ? "paused" : "served"));
    }
  }
  return status;
}

int pause_it(const NamesOrder& order) { return set_paused(order, true); }
int unpause_it(const NamesOrder& order) { return set_paused(order, false); }

}  // namespace

int periodic_command(const std::vector<std::string>& args) {
  static const NamesCommand command = {
      "periodic",
      "Periodic jobs",
      "[NAME...]",
      periodic_footer,
      {{{"list", "", "show all, with their next and last ticks", {}}, list_all_periodic},
       {{"next", "NAME", "show the next five ticks", {}}, show_next},
       {{"history", "NAME", "show the last ticks, and their jobs", {}}, show_history},
       {{"run", "NAME", "enqueue its job now, beside its ticks", {}}, run_periodic},
       {{"pause", "NAME...", "stop its ticks", {}}, pause_it},
       {{"unpause", "NAME...", "start its ticks again, from now on", {}}, unpause_it},
       {{"check", "", "check the rules of the configuration, and show the next ticks of each", {}}, check_periodic}}};
  return obey(command, args);
}

}  // namespace brood
