// `brood periodic`: jobs that run again and again by a rule.

#include <fmt/format.h>

#include <brood/periodic.hpp>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "shared/api/periodic_rules.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/units.hpp"
#include "shared/classes/rule_by_class.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/config/reading/periodic_zones.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/periodic/periodic_rule.hpp"
#include "supervisor/cli/access/ask_published_classes.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/arguments/verb.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/class_checks.hpp"
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
    R"(They are in [periodic.NAME] of the configuration, registered by job libraries, or added at run time; see
brood.toml(5).  A rule that is added lies in Redis, and each tick pushes one job, whichever supervisor it is.
With sidekiq_cron, list shows the schedules of that gem, too, by their keys, cron_job:NAMESPACE:NAME.
next and check read the configuration, so a rule can be checked before it holds; next searches Redis for a NAME
that is not in it.  Ticks during a pause are not made up for.

Exit status: 0; 64 usage; 69 Redis is not available; 75 no supervisor serves a job of that name, the one before has not
ended, the name is taken, or the configuration pauses it; 78 the configuration cannot be used.)";

struct PeriodicOrder {
  RedisAccess redis;
  std::vector<std::string> names;
  bool json = false, dry_run = false, replaces = false, unchecked = false;
  std::optional<std::string> cron, job_class, args, zone, queue, retry, catch_up, within, overlap, jitter;
  std::vector<std::string> enabled_on;
};

ShardConnections connect_to_shards(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-periodic");
}

std::string state_text(const ListedPeriodic& one) {
  if (!one.broken.empty()) return "broken: " + one.broken;
  if (!one.known.paused_at.empty()) return "paused by the configuration";
  if (one.known.paused) return "paused";
  return one.served ? "" : "not served";
}

int list_all_periodic(const PeriodicOrder& order) {
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
  Table table({{"NAME"}, {"CRON"}, {"ZONE"}, {"CLASS"}, {"NEXT"}, {"LAST"}, {"SOURCE"}, {"STATE"}});
  for (const ListedPeriodic& one : all) {
    const auto next = one.next_ticks(1);
    table.add({one.name, one.cron, one.zone, one.job_class, next.empty() ? "" : iso_time(WallTime(next.front())),
               one.known.last ? iso_time(WallTime(*one.known.last)) : "", std::string(one.shown_origin()),
               state_text(one)});
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

// The offset from UTC is shown where it changes between two ticks, since the clock is put forward or back there.
std::string lines_of_ticks(const ListedPeriodic& one, const std::vector<sys_seconds>& ticks) {
  constexpr std::size_t length_of_offset = 6;  // "+01:00"
  std::string text, offset_before;
  for (const sys_seconds tick : ticks) {
    const std::string local = one.local_text(tick);
    const std::string offset = local.substr(local.size() - length_of_offset);
    const bool clock_changes = !offset_before.empty() && offset != offset_before;
    text += fmt::format("  {}   {}{}\n", local, iso_time(WallTime(tick)),
                        clock_changes ? "   the clock was changed before" : "");
    offset_before = offset;
  }
  return text.empty() ? "  never\n" : text;
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
  print(lines_of_ticks(one, ticks));
}

int show_next(const PeriodicOrder& order) {
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

int check_periodic(const PeriodicOrder& order) {
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

int show_history(const PeriodicOrder& order) {
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

int run_periodic(const PeriodicOrder& order) {
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

int set_paused(const PeriodicOrder& order, bool pauses) {
  if (order.names.empty()) throw UsageError("the name of a periodic job is missing");
  int status = exit_status::ok;
  for (const std::string& name : order.names) {
    ShardConnections shards = connect_to_shards(order.redis);
    const PausedPeriodic paused = pause_periodic_of(shards, name, pauses);
    const bool stays_paused = !pauses && !paused.paused_at.empty();
    if (!paused.was_so) {
      status = say_unknown(name);
      continue;
    }
    if (order.json)
      print_json(JsonWriter()
                     .text("name", name)
                     .truth("paused", pauses || stays_paused)
                     .text_or_null("paused_at", paused.paused_at)
                     .object() +
                 "\n");
    else if (!stays_paused)
      print(fmt::format("{} {}{}\n", log::printable(name), *paused.was_so ? "was already " : "is ",
                        pauses ? "paused" : "served"));
    if (!stays_paused) continue;
    status = exit_status::try_again;
    fmt::print(stderr, "brood periodic: {}\n", log::printable(paused_by_configuration(name, paused.paused_at)));
  }
  return status;
}

int pause_it(const PeriodicOrder& order) { return set_paused(order, true); }
int unpause_it(const PeriodicOrder& order) { return set_paused(order, false); }

// ---- add, remove

int refuse(const std::string& why) {
  fmt::print(stderr, "brood periodic: {}\n", log::printable(why));
  return exit_status::try_again;
}

std::int64_t seconds_of(const char* option, const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration || duration->count() % 1000 != 0)
    throw UsageError(
        fmt::format("{} must be a duration of whole seconds such as \"30s\", \"10m\" or \"1h30m\", not \"{}\"", option,
                    log::printable(text.substr(0, 80))));
  return std::chrono::duration_cast<std::chrono::seconds>(*duration).count();
}

std::string json_given(const char* option, const std::string& text) {
  if (!is_json(text)) throw UsageError(fmt::format("{} is not JSON: {}", option, log::printable(text.substr(0, 80))));
  return text;
}

std::string rule_given(const PeriodicOrder& order) {
  if (!order.cron) throw UsageError("--cron is missing: the rule, such as \"30 3 * * *\"");
  if (!order.job_class) throw UsageError("--class is missing: the class of the job that runs at each tick");
  JsonWriter rule;
  rule.text("cron", *order.cron).text("class", *order.job_class);
  if (order.args) rule.json("args", json_given("--args", *order.args));
  if (order.retry) rule.json("retry", json_given("--retry", *order.retry));
  const std::pair<const char*, const std::optional<std::string>&> texts[] = {
      {"tz", order.zone}, {"queue", order.queue}, {"catch_up", order.catch_up}, {"overlap", order.overlap}};
  for (const auto& [member, text] : texts) {
    if (text) rule.text(member, *text);
  }
  if (order.within) rule.number("within", seconds_of("--within", *order.within));
  if (order.jitter) rule.number("jitter", seconds_of("--jitter", *order.jitter));
  if (!order.enabled_on.empty()) rule.texts("enabled_on", order.enabled_on);
  return rule.object();
}

PeriodicSettings settings_given(const std::string& name, const std::string& rule) try {
  check_periodic_name(name);
  return read_periodic_rule(rule);
} catch (const BadPeriodicRule& error) {
  throw UsageError(log::printable(error.what()));
}

// The place in the configuration of this machine that defines the job; empty if there is none.
std::string place_in_configuration(const PeriodicOrder& order, const std::string& name) {
  const auto configured = order.redis.configuration().periodic;
  const auto one = configured.find(name);
  return one == configured.end() ? "" : one->second.place;
}

int refuse_name(const std::string& name, const std::string& where) {
  return refuse(
      fmt::format("{} is in {}: change it there", name, where.empty() ? "the configuration of a supervisor" : where));
}

void tell_added(const PeriodicOrder& order, const ListedPeriodic& one, PutRule::Outcome outcome) {
  const bool replaced = outcome == PutRule::Outcome::replaced;
  if (order.json)
    return print_json(JsonWriter()
                          .text("name", one.name)
                          .truth("added", outcome == PutRule::Outcome::added)
                          .truth("replaced", replaced)
                          .text("cron", one.cron)
                          .text("tz", one.zone)
                          .each("next", one.next_ticks(ticks_shown),
                                [&](sys_seconds tick) {
                                  return JsonWriter()
                                      .number("at", tick.time_since_epoch().count())
                                      .text("local", one.local_text(tick))
                                      .object();
                                })
                          .object() +
                      "\n");
  print(fmt::format("{} is {}; supervisors serve it within five seconds\n", log::printable(one.name),
                    replaced ? "replaced" : "added"));
}

void refuse_class_that_encrypts(const PeriodicOrder& order) try {
  if (!order.redis.configuration().encryption.require) return;
  ShardConnections shards = connect_to_shards(order.redis);
  shards.on_away([](const std::string&, const std::string&) {});  // the rule itself reports that Redis is away
  check_class_of_rule(published_classes_for_push(shards), *order.job_class);
} catch (const PushRefused& error) {
  throw UsageError(log::printable(error.what()));
}

// The rule with the options of its class, once the class would take its arguments.
std::string checked_by_class(const PeriodicOrder& order, const std::string& text) try {
  const JsonObject rule = JsonObject::parse(text);
  RuleAsPush by_class = rule_as_push(rule);
  ClassChecks(order.redis, "brood periodic", order.unchecked).go_by(by_class.push, by_class.said);
  return with_class_options(rule, by_class);
} catch (const PushRefused& error) {
  throw UsageError(log::printable(error.what()));
}

// Shows the ticks before it adds the job, so that a person notices a rule with another meaning than intended.
int add_periodic(const PeriodicOrder& order) {
  const std::string& name = only_name(order);
  const std::string rule = rule_given(order);
  const ListedPeriodic one = listed_periodic(name, settings_given(name, rule));
  if (one.next_ticks(1).empty()) throw UsageError("the rule never comes: " + log::printable(one.cron));
  if (const std::string place = place_in_configuration(order, name); !place.empty()) return refuse_name(name, place);
  if (!order.json || order.dry_run) print_ticks(one, order.json);
  if (order.dry_run) return exit_status::ok;
  refuse_class_that_encrypts(order);
  const std::string by_class = checked_by_class(order, rule);
  Periodic periodic = detail::PeriodicRules::open(order.redis.known());
  const std::string by = fmt::format("brood periodic add on {}", Identity::of_this_process().hostname);
  const PutRule answer = [&] {
    try {
      return detail::PeriodicRules::put(periodic, name, by_class, by, order.replaces);
    } catch (const std::invalid_argument& error) {
      throw UsageError(log::printable(error.what()));
    }
  }();
  switch (answer.outcome) {
    case PutRule::Outcome::exists:
      return refuse(fmt::format("there is a rule {}: --replace replaces it", name));
    case PutRule::Outcome::too_many:
      return refuse(fmt::format("there are {} rules, as many as there may be", most_periodic_rules));
    case PutRule::Outcome::is_elsewhere:
      return refuse_name(name, answer.place);
    case PutRule::Outcome::added:
    case PutRule::Outcome::replaced:
      break;
  }
  tell_added(order, one, answer.outcome);
  return exit_status::ok;
}

int remove_periodic(const PeriodicOrder& order) {
  if (order.names.empty()) throw UsageError("the name of a periodic job is missing");
  int status = exit_status::ok;
  Periodic periodic = detail::PeriodicRules::open(order.redis.known());
  for (const std::string& name : order.names) {
    const RemovedRule answer = detail::PeriodicRules::remove(periodic, name);
    if (order.json) print_json(JsonWriter().text("name", name).truth("removed", answer.removed).object() + "\n");
    if (answer.removed) {
      if (!order.json) print(fmt::format("{} is removed; its jobs that were pushed stay\n", log::printable(name)));
      continue;
    }
    const std::string here = place_in_configuration(order, name);
    const std::string& place = here.empty() ? answer.place : here;
    if (!place.empty())
      status = refuse(fmt::format(
          "{} was not added at run time, but is in {}: remove it there, and run \"brood restart\"", name, place));
    else
      status = is_of_gem(name) ? say_unknown(name) : refuse(fmt::format("there is no rule {}", name));
  }
  return status;
}

}  // namespace

int periodic_command(const std::vector<std::string>& args) {
  static const std::vector<VerbFor<PeriodicOrder>> verbs = {
      {{"list", "", "show all, with their next and last ticks", {}}, list_all_periodic},
      {{"next", "NAME", "show the next five ticks", {}}, show_next},
      {{"history", "NAME", "show the last ticks, and their jobs", {}}, show_history},
      {{"run", "NAME", "enqueue its job now, beside its ticks", {}}, run_periodic},
      {{"add",
        "NAME",
        "add one that all supervisors serve; shows its next five ticks first",
        {"--cron", "--class", "--args", "--tz", "--queue", "--retry", "--catch-up", "--within", "--overlap", "--jitter",
         "--enabled-on", "--replace", "--dry-run", "--unchecked"}},
       add_periodic},
      {{"remove", "NAME...", "remove one that was added", {}}, remove_periodic},
      {{"pause", "NAME...", "stop its ticks", {}}, pause_it},
      {{"unpause", "NAME...", "start its ticks again, from now on", {}}, unpause_it},
      {{"check", "", "check the rules of the configuration, and show the next ticks of each", {}}, check_periodic}};
  PeriodicOrder order;
  CommandLine line("Periodic jobs: brood periodic [VERB] [NAME...] [OPTIONS]", "brood periodic");
  line.flag("--json", order.json, "Answer in JSON, for programs");
  line.option("--cron", order.cron, "RULE",
              "Of add: minute hour day month weekday, six fields with the second in front, or @daily and the like");
  line.option("--class", order.job_class, "CLASS", "Of add, as those below: the class that runs at each tick");
  line.option("--args", order.args, "JSON", "Its arguments as a JSON array (default: [])");
  line.option("--tz", order.zone, "ZONE", "Time zone of the rule, such as Europe/Berlin (default: UTC)");
  line.option("-q,--queue", order.queue, "NAME", "Queue of its jobs (default: the class's, else default)");
  line.option(
      "--retry", order.retry, "N",
      "How often a job is retried: a number, true (the server's default) or false (default: as the class, else true)");
  line.option("--catch-up", order.catch_up, "WHAT", "Missed ticks that run: none, last or all");
  line.option("--within", order.within, "DURATION", "Unless they are older than this");
  line.option("--overlap", order.overlap, "WHAT",
              "While the job before has not ended: allow another (default), skip the tick, or queue it until then");
  line.option("--jitter", order.jitter, "DURATION", "Delay each job by a random time of at most this");
  line.option("--enabled-on", order.enabled_on, "LABEL",
              "Only supervisors with this label claim its ticks; may be repeated");
  line.flag("--replace", order.replaces, "Replace a rule of this name");
  line.flag("--unchecked", order.unchecked, "Add it also if its class seems misspelt, or would not take the arguments");
  line.flag("--dry-run", order.dry_run, "Show the next five ticks, and add nothing");
  order.redis.add_options(line);
  const std::vector<Verb> says = only_verbs(verbs);
  line.footer(fmt::format("{}\n{}", help_on("periodic", says), periodic_footer));
  order.names = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.names);
  return verbs[verb].obey(order);
}

}  // namespace brood
