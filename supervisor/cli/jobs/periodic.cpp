// Jobs that run again and again by a rule.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/job/due_job.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/periodic/next_tick.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"
#include "shared/store/redis_time.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/iso_time.hpp"
#include "supervisor/cli/listing.hpp"
#include "supervisor/cli/redis_access.hpp"
#include "supervisor/cli/shard_connections.hpp"
#include "supervisor/cli/terminal.hpp"
#include "supervisor/cli/verb.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

constexpr int ticks_shown = 5;

constexpr const char* periodic_footer =
    R"(They are the sections [periodic.NAME] of the configuration, and what job libraries register; see brood.toml(5).
next and check read the configuration, so that a rule can be looked at before it holds; next looks in Redis for a NAME
that is not there.  A job that is paused goes on from the moment at which it is unpaused.

Exit status: 0; 64 usage; 69 Redis is not available; 75 no supervisor serves a job of that name, or the one before has
not ended; 78 the configuration cannot be used.)";

struct PeriodicOrder {
  RedisAccess redis;
  std::vector<std::string> names;
  bool json = false;
};

ShardConnections connect_to_shards(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-periodic");
}

// One, as Redis or the configuration has it.
struct ShownPeriodic {
  std::string cron, zone = "UTC", job_class, args = "[]", queue = "default", retry = "true", overlap = "allow";
  KnownPeriodic known = {};
  bool served = false;
};

ShownPeriodic shown(const PeriodicSettings& settings) {
  return {.cron = settings.cron,
          .zone = settings.zone,
          .job_class = settings.job_class,
          .args = settings.args,
          .queue = settings.queue,
          .retry = settings.retry,
          .overlap = std::string(name_of(settings.overlap))};
}

std::optional<ShownPeriodic> shown(const Reply& reply) {
  auto known = read_periodic(reply.view());
  if (!known) return std::nullopt;
  ShownPeriodic one;
  try {
    const JsonObject definition = JsonObject::parse(known->definition);
    const auto text = [&](const char* key, std::string& into) { into = definition.string(key).value_or(into); };
    text("cron", one.cron);
    text("tz", one.zone);
    text("class", one.job_class);
    text("queue", one.queue);
    text("overlap", one.overlap);
    one.args = definition.raw("args").value_or(one.args);
    one.retry = definition.raw("retry").value_or(one.retry);
  } catch (const BadJson&) {  // somebody else has written it
  }
  one.known = std::move(*known);
  one.served = true;
  return one;
}

std::vector<sys_seconds> next_ticks(const ShownPeriodic& one, int how_many) {
  std::vector<sys_seconds> ticks;
  const auto zone = Zone::find(one.zone);
  if (!zone) return ticks;
  try {
    const CronRule rule = CronRule::parse(one.cron);
    sys_seconds last = std::chrono::floor<std::chrono::seconds>(redis_now());
    while (how_many-- > 0) {
      const auto tick = next_tick(rule, *zone, last);
      if (!tick) break;
      ticks.push_back(last = *tick);
    }
  } catch (const CronError&) {  // another brood knows more
  }
  return ticks;
}

// As the clock in the zone shows it: "2026-11-25 03:00:00 +01:00".
std::string local_text(sys_seconds tick, const std::string& zone_name) {
  const auto zone = Zone::find(zone_name);
  const std::chrono::seconds ahead = zone ? zone->around(tick).ahead : 0s;
  std::string text = iso_time(WallTime(tick + ahead));  // "2026-11-25T03:00:00Z"
  text.pop_back();
  text[text.find('T')] = ' ';
  const auto minutes = std::chrono::abs(std::chrono::duration_cast<std::chrono::minutes>(ahead)).count();
  return fmt::format("{} {}{:02}:{:02}", text, ahead < 0s ? '-' : '+', minutes / 60, minutes % 60);
}

std::optional<std::int64_t> epoch(std::optional<sys_seconds> moment) {
  return moment ? std::optional<std::int64_t>(moment->time_since_epoch().count()) : std::nullopt;
}

std::optional<sys_seconds> first_of(const std::vector<sys_seconds>& ticks) {
  return ticks.empty() ? std::nullopt : std::optional(ticks.front());
}

// ---- list

std::map<std::string, ShownPeriodic> all_periodic(const PeriodicOrder& order) {
  std::map<std::string, ShownPeriodic> all;
  for (const auto& [name, settings] : order.redis.configuration().periodic) all.emplace(name, shown(settings));
  ShardConnections shards = connect_to_shards(order.redis);
  shards.each([&](ShardConnections::Shard& shard) {
    ask_redis_time(shard.redis);
    const std::vector<std::string> names = read_periodic_names(shard.redis.call(ask_periodic_names()).view());
    std::vector<Command> commands;
    for (const std::string& name : names) commands.push_back(ask_periodic(name));
    if (commands.empty()) return;
    const std::vector<Reply> replies = shard.redis.pipeline(commands);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (auto one = shown(replies[i])) all.insert_or_assign(names[i], std::move(*one));
    }
  });
  return all;
}

std::string json_of(const std::string& name, const ShownPeriodic& one) {
  return JsonWriter()
      .text("name", name)
      .text("cron", one.cron)
      .text("class", one.job_class)
      .number("next", epoch(first_of(next_ticks(one, 1))))
      .number("last", epoch(one.known.last))
      .truth("paused", one.known.paused)
      .text("tz", one.zone)
      .text("queue", one.queue)
      .json("args", one.args)
      .text("overlap", one.overlap)
      .truth("served", one.served)
      .number("claimed", one.known.claimed)
      .number("missed", one.known.missed)
      .number("skipped", one.known.skipped)
      .object();
}

int list_periodic(const PeriodicOrder& order) {
  refuse_arguments(order.names);
  const auto all = all_periodic(order);
  if (order.json) {
    JsonArray array;
    for (const auto& [name, one] : all) array.add(json_of(name, one));
    array.end();
    return exit_status::ok;
  }
  Table table({{"NAME"}, {"CRON"}, {"ZONE"}, {"CLASS"}, {"NEXT"}, {"LAST"}, {"STATE"}});
  for (const auto& [name, one] : all) {
    const auto next = first_of(next_ticks(one, 1));
    table.add({name, one.cron, one.zone, one.job_class, next ? iso_time(WallTime(*next)) : "",
               one.known.last ? iso_time(WallTime(*one.known.last)) : "",
               one.known.paused ? "paused"
               : one.served     ? ""
                                : "not served"});
  }
  print(table.empty() ? "There is no periodic job.\n" : table.text(Style::of_standard_output()));
  return exit_status::ok;
}

// ---- next, check, history

const std::string& only_name(const PeriodicOrder& order) {
  if (order.names.empty()) throw UsageError("the name of a periodic job is missing");
  if (order.names.size() > 1) refuse_arguments({order.names[1]});
  return order.names.front();
}

int say_unknown(const std::string& name) {
  fmt::print(stderr, "brood periodic: no supervisor serves a job {}\n", log::printable(name));
  return exit_status::try_again;
}

// Visits the state of one, in whichever shard it is; false: it is in none.
bool with_state(const PeriodicOrder& order, const std::string& name,
                const std::function<void(ShardConnections::Shard&, const ShownPeriodic&)>& visit) {
  ShardConnections shards = connect_to_shards(order.redis);
  return shards.any([&](ShardConnections::Shard& shard) {
    const auto one = shown(shard.redis.call(ask_periodic(name)));
    if (one) visit(shard, *one);
    return one.has_value();
  });
}

void print_ticks(const std::string& name, const ShownPeriodic& one, bool json) {
  const std::vector<sys_seconds> ticks = next_ticks(one, ticks_shown);
  if (json)
    return print_json(JsonWriter()
                          .text("name", name)
                          .text("cron", one.cron)
                          .text("tz", one.zone)
                          .each("next", ticks,
                                [&](sys_seconds tick) {
                                  return JsonWriter()
                                      .number("at", tick.time_since_epoch().count())
                                      .text("local", local_text(tick, one.zone))
                                      .object();
                                })
                          .object() +
                      "\n");
  print(fmt::format("{}: {} in {}\n", log::printable(name), log::printable(one.cron), log::printable(one.zone)));
  for (const sys_seconds tick : ticks)
    print(fmt::format("  {}   {}\n", local_text(tick, one.zone), iso_time(WallTime(tick))));
  if (ticks.empty()) print("  never\n");
}

int show_next(const PeriodicOrder& order) {
  const std::string& name = only_name(order);
  const auto configured = order.redis.configuration().periodic;
  check_zones(configured);
  if (const auto one = configured.find(name); one != configured.end()) {
    print_ticks(name, shown(one->second), order.json);
    return exit_status::ok;
  }
  const bool found = with_state(order, name, [&](ShardConnections::Shard& shard, const ShownPeriodic& one) {
    ask_redis_time(shard.redis);
    print_ticks(name, one, order.json);
  });
  return found ? exit_status::ok : say_unknown(name);
}

int check_periodic(const PeriodicOrder& order) {
  refuse_arguments(order.names);
  const auto configured = order.redis.configuration().periodic;
  check_zones(configured);
  for (const auto& [name, settings] : configured) print_ticks(name, shown(settings), order.json);
  if (configured.empty() && !order.json) print("There is no periodic job.\n");
  return exit_status::ok;
}

std::string history_line(const std::string& entry) {
  try {
    const JsonObject tick = JsonObject::parse(entry);
    const auto at = [&](const char* key) {
      const auto seconds = tick.number(key);
      return seconds ? iso_time(WallTime(std::chrono::seconds(static_cast<std::int64_t>(*seconds)))) : "by hand";
    };
    const auto jid = tick.string("jid");
    return fmt::format("  {:<20}  {}  {}\n", at("tick"), at("at"), log::printable(jid.value_or("no job")));
  } catch (const BadJson&) {
    return "";
  }
}

int show_history(const PeriodicOrder& order) {
  const std::string& name = only_name(order);
  const bool found = with_state(order, name, [&](ShardConnections::Shard& shard, const ShownPeriodic&) {
    const Reply reply = shard.redis.call(ask_periodic_history(name));
    JsonArray array;
    for (std::size_t i = 0; i < reply.view().size(); ++i) {
      const std::string entry(reply.view()[i].text());
      if (!order.json)
        print(history_line(entry));
      else if (!history_line(entry).empty())
        array.add(entry);
    }
    if (order.json) array.end();
  });
  return found ? exit_status::ok : say_unknown(name);
}

// ---- run, pause, unpause

TickClaim run_now(const std::string& name, const ShownPeriodic& one) {
  std::mt19937_64 random{std::random_device{}()};
  JsonWriter text;
  text.json("retry", one.retry)
      .text("queue", one.queue)
      .text("class", one.job_class)
      .json("args", one.args)
      .text("periodic", name);
  if (one.overlap != "allow") text.text("unique_lock", turn_of_periodic(name));
  TickClaim claim{.name = name, .queue = one.queue};
  claim.payload = prepare_due_job(text.object(), redis_now(), random).payload;
  claim.jid = Payload::parse(claim.payload).jid();
  claim.entry = JsonWriter()
                    .null("tick")
                    .decimal("at", epoch_seconds(redis_now()))
                    .text("jid", claim.jid)
                    .text("by", "brood periodic run")
                    .object();
  if (one.overlap != "allow") claim.while_held = TickClaim::WhileHeld::wait;
  return claim;
}

int run_periodic(const PeriodicOrder& order) {
  const std::string& name = only_name(order);
  int status = exit_status::ok;
  const bool found = with_state(order, name, [&](ShardConnections::Shard& shard, const ShownPeriodic& one) {
    ask_redis_time(shard.redis);
    const TickClaim claim = run_now(name, one);
    const Reply reply = send(shard.redis, claim_tick(claim));
    if (read_claimed_tick(reply.view()).outcome == ClaimedTick::Outcome::claimed) {
      if (order.json) return print_json(JsonWriter().text("name", name).text("jid", claim.jid).object() + "\n");
      return print(fmt::format("enqueued {} as {}\n", log::printable(one.job_class), claim.jid));
    }
    fmt::print(stderr, "brood periodic: the job of {} that was begun before has not ended\n", log::printable(name));
    status = exit_status::try_again;
  });
  return found ? status : say_unknown(name);
}

int set_paused(const PeriodicOrder& order, bool pauses) {
  if (order.names.empty()) throw UsageError("the name of a periodic job is missing");
  int status = exit_status::ok;
  for (const std::string& name : order.names) {
    std::int64_t changed = -1;
    ShardConnections shards = connect_to_shards(order.redis);
    shards.any([&](ShardConnections::Shard& shard) {
      changed = send(shard.redis, pause_periodic(name, pauses)).view().integer();
      return changed >= 0;
    });
    if (changed < 0) {
      status = say_unknown(name);
    } else if (order.json) {
      print_json(JsonWriter().text("name", name).truth("paused", pauses).object() + "\n");
    } else {
      print(fmt::format("{} {}{}\n", log::printable(name), changed == 0 ? "was already " : "is ",
                        pauses ? "paused" : "served"));
    }
  }
  return status;
}

int pause_it(const PeriodicOrder& order) { return set_paused(order, true); }
int unpause_it(const PeriodicOrder& order) { return set_paused(order, false); }

}  // namespace

int periodic_command(const std::vector<std::string>& args) {
  static const std::vector<VerbFor<PeriodicOrder>> verbs = {
      {{"list", "", "show all, with their next and last ticks", {}}, list_periodic},
      {{"next", "NAME", "show the next five ticks", {}}, show_next},
      {{"history", "NAME", "show the last ticks, and what became of them", {}}, show_history},
      {{"run", "NAME", "enqueue its job now, beside its ticks", {}}, run_periodic},
      {{"pause", "NAME...", "let no tick come", {}}, pause_it},
      {{"unpause", "NAME...", "let ticks come again, from now on", {}}, unpause_it},
      {{"check", "", "check the rules of the configuration, and show the next ticks of each", {}}, check_periodic}};
  PeriodicOrder order;
  CommandLine line("Jobs that run again and again by a rule: brood periodic [VERB] [NAME...] [OPTIONS]",
                   "brood periodic");
  line.flag("--json", order.json, "Answer in JSON, for programs");
  order.redis.add_options(line);
  const std::vector<Verb> says = only_verbs(verbs);
  line.footer(help_on("periodic", says) + "\n" + periodic_footer);
  order.names = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.names);
  return verbs[verb].obey(order);
}

}  // namespace brood
