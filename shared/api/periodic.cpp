#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <map>
#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/api/periodic_rules.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/base/shard_of_key.hpp"
#include "shared/json/json_object.hpp"
#include "shared/periodic/cron_rule.hpp"
#include "shared/periodic/local_text.hpp"
#include "shared/periodic/next_tick.hpp"
#include "shared/periodic/zone.hpp"
#include "shared/store/periodic/periodic_rule.hpp"

namespace brood {
namespace {

using std::chrono::sys_seconds;
using RuleTime = std::chrono::system_clock::time_point;

std::string this_host() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

// Where the rule of this name is to lie: the shard that serves it.
detail::ApiState& home_of(detail::ApiShards& shards, std::string_view name) {
  std::vector<std::string> names;
  std::vector<bool> drained;
  for (const auto& shard : shards.all()) {
    names.push_back(shard->shard());
    drained.push_back(shard->is_drained());
  }
  return *shards.all().at(names.size() == 1 ? 0 : shard_of_key(names, name, drained));
}

PeriodicSettings checked(std::string_view name, std::string_view rule) try {
  check_periodic_name(name);
  PeriodicSettings job = read_periodic_rule(rule);
  if (periodic_rule_json(job).size() > longest_periodic_rule)
    throw BadPeriodicRule(fmt::format("the rule is longer than {} bytes in Redis", longest_periodic_rule));
  return job;
} catch (const BadPeriodicRule& error) {
  throw std::invalid_argument("the periodic job " + std::string(name.substr(0, 255)) + ": " + error.what());
}

// The same zone may be asked for again and again.
Zone zone_named(std::string_view name) {
  if (const auto zone = Zone::find(name)) return *zone;
  const auto meant = Zone::like(std::string(name));
  throw std::invalid_argument("this machine knows no time zone \"" + std::string(name.substr(0, 255)) + "\"" +
                              (meant ? "; did you mean \"" + *meant + "\"?" : ""));
}

RuleTime api_time(sys_seconds moment) {
  return RuleTime(std::chrono::duration_cast<RuleTime::duration>(moment.time_since_epoch()));
}
std::optional<RuleTime> api_time(std::optional<sys_seconds> moment) {
  return moment ? std::optional(api_time(*moment)) : std::nullopt;
}

PeriodicSource source_of(const KnownPeriodic& known, bool is_in_redis) {
  if (known.source == name_of(PeriodicSettings::Source::library)) return PeriodicSource::library;
  if (known.source.empty()) return is_in_redis ? PeriodicSource::redis : PeriodicSource::configuration;
  return known.source == name_of(PeriodicSettings::Source::redis) ? PeriodicSource::redis
                                                                  : PeriodicSource::configuration;
}

// What a rule or a definition says.  Any program may have written it.
void read_into(PeriodicJob& job, const std::string& json) try {
  const JsonObject rule = JsonObject::parse(json);
  job.cron = rule.string("cron").value_or("");
  job.tz = rule.string("tz").value_or("UTC");
  job.job_class = rule.string("class").value_or("");
  job.args = rule.raw("args").value_or("[]");
  job.queue = rule.string("queue").value_or("default");
  job.retry = rule.raw("retry").value_or("true");
  const auto zone = Zone::find(job.tz);
  if (!zone) return;
  const auto now = std::chrono::floor<std::chrono::seconds>(redis_now());
  job.next = api_time(next_tick(CronRule::parse(job.cron), *zone, now));
} catch (const BadJson&) {
} catch (const CronError&) {  // another brood knows more
}

std::string error_of(const std::string& name, const std::string& rule) try {
  check_periodic_name(name);
  if (rule.empty()) throw BadPeriodicRule("it is empty or too long");
  read_periodic_rule(rule);
  return "";
} catch (const BadPeriodicRule& error) {
  return error.what();
}

PeriodicJob job_of(std::string name, const KnownPeriodic& known, bool is_in_redis) {
  PeriodicJob job;
  job.name = std::move(name);
  read_into(job, known.definition);
  job.source = source_of(known, is_in_redis);
  job.place = known.place;
  job.paused = known.has_no_ticks();
  job.paused_at = known.paused_at;
  job.last = api_time(known.last);
  job.claimed = known.claimed;
  job.missed = known.missed;
  job.skipped = known.skipped;
  return job;
}

using ListedJobs = std::map<std::string, PeriodicJob, std::less<>>;

// A rule that cannot be used has no state.
void add_rules(ListedJobs& all, const std::vector<std::pair<std::string, std::string>>& rules) {
  for (const auto& [name, rule] : rules) {
    const std::string error = error_of(name, rule);
    const auto listed = all.find(name);
    if (listed != all.end() && (error.empty() || listed->second.source != PeriodicSource::redis)) continue;
    PeriodicJob& job = all[name];
    job.name = name;
    if (listed == all.end()) read_into(job, rule);
    job.error = error;
  }
}

void add_jobs_of(ClientConnection& redis, ListedJobs& all) {
  const Reply stored = redis.run(ask_periodic_rules());
  const StoredRules rules = read_periodic_rules(stored.view());
  std::map<std::string_view, bool> in_redis;
  for (const auto& [name, rule] : rules.rules) in_redis[name] = true;
  const Reply listed = redis.call(ask_periodic_names());
  const std::vector<std::string> names = read_periodic_names(listed.view());
  std::vector<Command> commands;
  for (const std::string& name : names) commands.push_back(ask_periodic(name));
  if (!commands.empty()) {
    const std::vector<Reply> replies = redis.pipeline(commands);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (const auto known = read_periodic(replies[i].view()))
        all.insert_or_assign(names[i], job_of(names[i], *known, in_redis.contains(names[i])));
    }
  }
  add_rules(all, rules.rules);
}

ListedJobs jobs_of(detail::ApiShards& shards) {
  ListedJobs all;
  if (const auto receiver = push_receiver(); receiver && receiver->stands_for_redis()) {
    for (const auto& [name, rule] : receiver->periodic_rules()) {
      PeriodicJob& job = all[name];
      job.name = name;
      read_into(job, rule);
    }
    return all;
  }
  shards.each([&](detail::ApiState& shard) {
    shard.converse([&](ClientConnection& redis) {
      ListedJobs here;
      add_jobs_of(redis, here);
      all.merge(here);
    });
  });
  return all;
}

}  // namespace

Periodic::Periodic() : Periodic(std::make_shared<detail::ApiShards>(known_redis())) {}
Periodic::Periodic(const std::string& redis_url)
    : Periodic(std::make_shared<detail::ApiShards>(known_redis(redis_url))) {}
Periodic::Periodic(std::shared_ptr<detail::ApiShards> shards) : shards_(std::move(shards)) {}

Periodic detail::PeriodicRules::open(const KnownRedis& known) { return Periodic(std::make_shared<ApiShards>(known)); }

// It is written in its home first, then removed elsewhere: in between it is served once, as each supervisor serves one
// rule of a name.
PutRule detail::PeriodicRules::put(Periodic& periodic, std::string_view name, std::string_view rule,
                                   const std::string& by, bool replaces) {
  using Outcome = PutRule::Outcome;
  const PeriodicSettings job = checked(name, rule);
  if (const auto receiver = push_receiver(); receiver && receiver->stands_for_redis())
    return {receiver->put_periodic_rule(std::string(name), periodic_rule_json(job), replaces), ""};
  ApiShards& shards = *periodic.shards_;
  ApiState& home = home_of(shards, name);
  bool is_elsewhere = false;
  for (const auto& shard : shards.all()) {
    if (shard.get() == &home) continue;
    is_elsewhere |= shard->converse([&](ClientConnection& redis) {
      const Reply stored = redis.run(ask_periodic_rules());
      const StoredRules rules = read_periodic_rules(stored.view());
      return std::any_of(rules.rules.begin(), rules.rules.end(), [&](const auto& one) { return one.first == name; });
    });
  }
  if (is_elsewhere && !replaces) return {Outcome::exists, ""};
  const AddedRule added{.name = std::string(name),
                        .rule = periodic_rule_json(job),
                        .rule_text = periodic_rule_text(job),
                        .definition = periodic_definition(job),
                        .by = by,
                        .replaces = replaces};
  PutRule answer = home.converse([&](ClientConnection& redis) {
    const Reply reply = redis.run(put_periodic_rule(added));
    return read_put_rule(reply.view());
  });
  if (!is_elsewhere || (answer.outcome != Outcome::added && answer.outcome != Outcome::replaced)) return answer;
  answer.outcome = Outcome::replaced;
  for (const auto& shard : shards.all()) {
    if (shard.get() != &home) shard->converse([&](ClientConnection& redis) { redis.run(remove_periodic_rule(name)); });
  }
  return answer;
}

RemovedRule detail::PeriodicRules::remove(Periodic& periodic, std::string_view name) {
  if (const auto receiver = push_receiver(); receiver && receiver->stands_for_redis())
    return {receiver->remove_periodic_rule(std::string(name)), ""};
  RemovedRule all;
  periodic.shards_->each([&](ApiState& shard) {
    const RemovedRule here = shard.converse([&](ClientConnection& redis) {
      const Reply reply = redis.run(brood::remove_periodic_rule(name));
      return read_removed_rule(reply.view());
    });
    all.removed |= here.removed;
    if (all.place.empty()) all.place = here.place;
  });
  return all;
}

bool Periodic::put(std::string_view name, std::string_view rule, bool replaces) {
  using Outcome = PutRule::Outcome;
  const PutRule answer = detail::PeriodicRules::put(*this, name, rule, "brood::Periodic on " + this_host(), replaces);
  if (answer.outcome == Outcome::is_elsewhere)
    throw std::invalid_argument(fmt::format("the periodic job {} is in {}: remove it there first", name,
                                            answer.place.empty() ? "the configuration of a supervisor" : answer.place));
  if (answer.outcome == Outcome::too_many)
    throw std::invalid_argument(
        fmt::format("there are {} rules in Redis, as many as there may be", most_periodic_rules));
  return replaces ? answer.outcome == Outcome::replaced : answer.outcome == Outcome::added;
}

bool Periodic::remove(std::string_view name) {
  const RemovedRule answer = detail::PeriodicRules::remove(*this, name);
  if (!answer.removed && !answer.place.empty())
    throw std::invalid_argument(
        fmt::format("the periodic job {} is in {}: only that removes it", name.substr(0, 255), answer.place));
  return answer.removed;
}

std::vector<PeriodicJob> Periodic::list() {
  std::vector<PeriodicJob> listed;
  for (auto& [name, job] : jobs_of(*shards_)) listed.push_back(std::move(job));
  return listed;
}

std::optional<PeriodicJob> Periodic::find(std::string_view name) {
  ListedJobs all = jobs_of(*shards_);
  const auto found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(std::move(found->second));
}

std::vector<PeriodicTick> Periodic::next(std::string_view cron, std::string_view tz, std::size_t count,
                                         RuleTime after) try {
  const CronRule rule = CronRule::parse(cron);
  const Zone zone = zone_named(tz);
  std::vector<PeriodicTick> ticks;
  sys_seconds last = std::chrono::floor<std::chrono::seconds>(after);
  while (ticks.size() < count) {
    const auto tick = next_tick(rule, zone, last);
    if (!tick) break;
    last = *tick;
    const auto ahead = zone.around(last).ahead;
    ticks.push_back({api_time(last), ahead, local_text(last, ahead)});
  }
  return ticks;
} catch (const CronError& error) {
  throw std::invalid_argument(error.what());
}

}  // namespace brood
