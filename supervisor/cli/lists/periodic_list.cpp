#include "supervisor/cli/lists/periodic_list.hpp"

#include <fmt/format.h>

#include <map>
#include <random>
#include <utility>

#include "shared/base/redis_clock.hpp"
#include "shared/job/due_job.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/periodic/fugit_rule.hpp"
#include "shared/periodic/local_text.hpp"
#include "shared/periodic/next_tick.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/periodic/gem_schedules.hpp"
#include "shared/store/periodic/periodic_rule.hpp"
#include "shared/store/redis_time.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

std::optional<ListedPeriodic> listed_from(const std::string& name, const Reply& reply) {
  auto known = read_periodic(reply.view());
  if (!known) return std::nullopt;
  ListedPeriodic one;
  one.name = name;
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
    if (const auto members = definition.raw("members"); members && members->size() > 2)
      one.members = "," + std::string(members->substr(1, members->size() - 2));
  } catch (const BadJson&) {  // written by another program
  }
  if (known->source.empty()) known->source = "configuration";  // served by an earlier release
  one.known = std::move(*known);
  one.served = true;
  return one;
}

std::string text_or(const std::map<std::string, std::string>& fields, const char* key, const std::string& otherwise) {
  const auto field = fields.find(key);
  return field == fields.end() || field->second.empty() ? otherwise : field->second;
}

ListedPeriodic listed_gem_schedule(const std::string& name, const std::map<std::string, std::string>& fields) {
  ListedPeriodic one;
  one.name = name;
  one.of_gem = true;
  one.cron = text_or(fields, "cron", "");
  one.job_class = text_or(fields, "klass", "");
  one.args = text_or(fields, "args", "[]");
  if (!is_json(one.args)) one.args = json_string(one.args);
  try {
    one.queue = JsonObject::parse(text_or(fields, "message", "{}")).string("queue").value_or(one.queue);
  } catch (const BadJson&) {  // its ticks fail, and the log has the reason
  }
  one.known.paused = text_or(fields, "status", "") != "enabled";
  one.known.last = parse_gem_time(text_or(fields, "last_enqueue_time", ""));
  try {
    one.zone = FugitRule::parse(one.cron).zone.name();
    one.served = true;
  } catch (const CronError&) {  // its ticks fail, and the log has the reason
  }
  return one;
}

std::vector<ListedPeriodic> list_gem_schedules(Connection& redis) {
  std::vector<std::string> names;
  for (const Reply& reply : redis.pipeline(ask_gem_schedules(gem_sets_of(redis)))) {
    for (std::string& name : read_gem_schedules(reply.view())) names.push_back(std::move(name));
  }
  std::vector<Command> commands;
  for (const std::string& name : names) commands.push_back(ask_gem_schedule(name));
  std::vector<ListedPeriodic> listed;
  if (commands.empty()) return listed;
  const std::vector<Reply> replies = redis.pipeline(commands);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto fields = read_gem_schedule(replies[i].view());
    if (!fields.empty()) listed.push_back(listed_gem_schedule(names[i], fields));
  }
  return listed;
}

// The rule for its ticks.  Throws CronError, also for a zone that this machine does not know.
FugitRule rule_of(const ListedPeriodic& one) {
  if (one.of_gem) return FugitRule::parse(one.cron);
  const auto zone = Zone::find(one.zone);
  if (!zone) throw CronError("this machine knows no time zone " + one.zone);
  return {CronRule::parse(one.cron), *zone};
}

std::string why_broken(const std::string& name, const std::string& rule) try {
  check_periodic_name(name);
  if (rule.empty()) throw BadPeriodicRule("it is empty or too long");
  read_periodic_rule(rule);
  return "";
} catch (const BadPeriodicRule& error) {
  return error.what();
}

// Adds the rules that supervisors do not serve, because they cannot be used or because the configuration has the name.
void add_stored_rules(Connection& redis, std::map<std::string, ListedPeriodic>& all) {
  const Reply reply = redis.run(ask_periodic_rules());
  for (const auto& [name, rule] : read_periodic_rules(reply.view()).rules) {
    const std::string broken = why_broken(name, rule);
    const auto listed = all.find(name);
    const bool is_known = listed != all.end();
    if (is_known && (broken.empty() || listed->second.origin() != "redis")) continue;
    ListedPeriodic& one = all[name];
    one.broken = broken;
    if (is_known) continue;
    one.name = name;
    one.known.source = "redis";
    if (!broken.empty()) continue;
    one = listed_periodic(name, read_periodic_rule(rule));
    one.known.source = "redis";
  }
}

std::optional<std::int64_t> epoch_of_tick(std::optional<sys_seconds> moment) {
  return moment ? std::optional<std::int64_t>(moment->time_since_epoch().count()) : std::nullopt;
}

// The unit of the job's times, as in the pushes of clients.
TimeUnit times(Connection& redis) {
  if (const auto told = told_times()) return *told;
  return times_beside(
      FleetRelease().oldest([&redis](const std::vector<Command>& commands) { return redis.pipeline(commands); }));
}

TickClaim claim_of_now(const ListedPeriodic& one, std::string_view who, TimeUnit times) {
  std::mt19937_64 random{std::random_device{}()};
  JsonWriter text;
  text.json("retry", one.retry)
      .text("queue", one.queue)
      .text("class", one.job_class)
      .json("args", one.args)
      .text("periodic", one.name);
  if (one.overlap != "allow") text.text("unique_lock", turn_of_periodic(one.name));
  TickClaim claim{.name = one.name, .queue = one.queue};
  std::string payload = text.object();
  payload.insert(payload.size() - 1, one.members);
  claim.payload = prepare_due_job(payload, redis_now(), random, times).payload;
  claim.jid = Payload::parse(claim.payload).jid();
  claim.entry = JsonWriter()
                    .null("tick")
                    .decimal("at", epoch_seconds(redis_now()))
                    .text("jid", claim.jid)
                    .text("by", who)
                    .object();
  if (one.overlap != "allow") claim.while_held = TickClaim::WhileHeld::wait;
  return claim;
}

}  // namespace

std::vector<sys_seconds> ListedPeriodic::next_ticks(int how_many) const {
  std::vector<sys_seconds> ticks;
  try {
    const FugitRule its = rule_of(*this);
    sys_seconds last = std::chrono::floor<std::chrono::seconds>(redis_now());
    while (how_many-- > 0) {
      const auto tick = next_tick(its.rule, its.zone, last);
      if (!tick) break;
      ticks.push_back(last = *tick);
    }
  } catch (const CronError&) {  // a rule of a later release
  }
  return ticks;
}

std::string ListedPeriodic::local_text(sys_seconds tick) const {
  std::chrono::seconds ahead = 0s;
  try {
    ahead = rule_of(*this).zone.around(tick).ahead;
  } catch (const CronError&) {  // it has no ticks
  }
  return brood::local_text(tick, ahead);
}

std::string_view ListedPeriodic::origin() const {
  if (of_gem) return "sidekiq-cron";
  return known.source;
}

std::string_view ListedPeriodic::shown_origin() const { return origin() == "redis" ? "run time" : origin(); }

std::string ListedPeriodic::json(ShowArgs shows) const {
  const std::vector<sys_seconds> next = next_ticks(1);
  return JsonWriter()
      .text("name", name)
      .text("cron", cron)
      .text("class", job_class)
      .number("next", next.empty() ? std::nullopt : epoch_of_tick(next.front()))
      .number("last", epoch_of_tick(known.last))
      .truth("paused", is_paused())
      .text("tz", zone)
      .text("queue", queue)
      .json("args", told_args_json(args, shows))
      .text("overlap", overlap)
      .truth("served", served)
      .text("source", of_gem ? "sidekiq-cron" : "brood")
      .number("claimed", known.claimed)
      .number("missed", known.missed)
      .number("skipped", known.skipped)
      .text("origin", origin())
      .text_or_null("place", known.place)
      .text_or_null("paused_at", known.paused_at)
      .text_or_null("error", broken)
      .object();
}

ListedPeriodic listed_periodic(const std::string& name, const PeriodicSettings& settings) {
  ListedPeriodic one{.name = name,
                     .cron = settings.cron,
                     .zone = settings.zone,
                     .job_class = settings.job_class,
                     .args = settings.args,
                     .queue = settings.queue,
                     .retry = settings.retry,
                     .overlap = std::string(name_of(settings.overlap)),
                     .members = settings.members};
  one.known.source = name_of(settings.source);
  one.known.place = settings.place;
  one.known.paused_at = settings.paused_at;
  return one;
}

std::vector<ListedPeriodic> list_periodic(const Config& config, ShardConnections& shards) {
  std::map<std::string, ListedPeriodic> all;
  for (const auto& [name, settings] : config.periodic) all.emplace(name, listed_periodic(name, settings));
  shards.each([&](ShardConnections::Shard& shard) {
    ask_redis_time(shard.redis);
    if (config.serves_sidekiq_cron) {
      for (ListedPeriodic& one : list_gem_schedules(shard.redis)) {
        std::string name = one.name;
        all.insert_or_assign(std::move(name), std::move(one));
      }
    }
    const std::vector<std::string> names = read_periodic_names(shard.redis.call(ask_periodic_names()).view());
    std::vector<Command> commands;
    for (const std::string& name : names) commands.push_back(ask_periodic(name));
    if (!commands.empty()) {
      const std::vector<Reply> replies = shard.redis.pipeline(commands);
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (auto one = listed_from(names[i], replies[i])) all.insert_or_assign(names[i], std::move(*one));
      }
    }
    add_stored_rules(shard.redis, all);
  });
  std::vector<ListedPeriodic> listed;
  for (auto& [name, one] : all) listed.push_back(std::move(one));
  return listed;
}

bool visit_periodic(ShardConnections& shards, const std::string& name,
                    const std::function<void(Connection&, const ListedPeriodic&)>& visit) {
  return shards.any([&](ShardConnections::Shard& shard) {
    const auto one = listed_from(name, shard.redis.call(ask_periodic(name)));
    if (one) {
      ask_redis_time(shard.redis);
      visit(shard.redis, *one);
    }
    return one.has_value();
  });
}

std::vector<PastTick> history_of_periodic(Connection& redis, const std::string& name) {
  const Reply reply = redis.call(ask_periodic_history(name));
  std::vector<PastTick> history;
  for (std::size_t i = 0; reply.view().is_array() && i < reply.view().size(); ++i) {
    PastTick past;
    past.json = std::string(reply.view()[i].text());
    try {
      const JsonObject entry = JsonObject::parse(past.json);
      const auto moment = [&](const char* key) {
        const auto seconds = entry.number(key);
        return seconds ? std::optional(lenient_moment(*seconds)) : std::nullopt;
      };
      past.tick = moment("tick");
      past.at = moment("at");
      past.jid = entry.string("jid").value_or("");
      history.push_back(std::move(past));
    } catch (const BadJson&) {  // written by another program
    }
  }
  return history;
}

std::optional<std::string> run_periodic_now(Connection& redis, const ListedPeriodic& one, std::string_view who) {
  const TickClaim claim = claim_of_now(one, who, times(redis));
  const Reply reply = redis.run(claim_tick(claim));
  if (read_claimed_tick(reply.view()).outcome != ClaimedTick::Outcome::claimed) return std::nullopt;
  return claim.jid;
}

PausedPeriodic pause_periodic_of(ShardConnections& shards, const std::string& name, bool pauses) {
  PausedPeriodic paused;
  shards.any([&](ShardConnections::Shard& shard) {
    const Reply reply = shard.redis.run(pause_periodic(name, pauses));
    paused = read_paused_periodic(reply.view());
    return paused.was_so.has_value();
  });
  return paused;
}

std::string paused_by_configuration(const std::string& name, const std::string& where) {
  return fmt::format("the configuration pauses {} ({}): remove \"paused\" there, and run \"brood restart\"", name,
                     where);
}

}  // namespace brood
