#include "supervisor/cli/import/schedule_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <set>

#include "shared/base/ascii.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/json/json.hpp"
#include "shared/periodic/cron_rule.hpp"
#include "shared/periodic/fugit_rule.hpp"

namespace brood {
namespace {

constexpr std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour, longest_interval = 366 * day;

std::optional<CronRule> cron_rule(const std::string& text) {
  try {
    return CronRule::parse(text);
  } catch (const CronError&) {
    return std::nullopt;
  }
}

std::optional<FugitRule> fugit_rule(const std::string& text) {
  try {
    return FugitRule::parse(text);
  } catch (const CronError&) {
    return std::nullopt;
  }
}

bool mean_the_same(const CronRule& one, const CronRule& other) {
  return one.seconds == other.seconds && one.minutes == other.minutes && one.hours == other.hours &&
         one.days == other.days && one.months == other.months && one.weekdays == other.weekdays &&
         one.either_day == other.either_day && other.days_from_end == 0 && other.nth_weekdays == 0 &&
         other.nth_weekdays_from_end == 0;
}

// The name of the time zone, which brood needs, for an offset of whole hours such as "+09:00" or "-0300"; nullopt for
// other offsets.  The sign of such a name is that of POSIX.
std::optional<std::string> zone_for_offset(const std::string& offset) {
  int hours = 0;
  for (std::size_t i = 1; i < offset.size(); ++i) {
    if (i < 3 && ascii::is_digit(offset[i]))
      hours = 10 * hours + (offset[i] - '0');
    else if (i < 3 || (offset[i] != '0' && offset[i] != ':'))
      return std::nullopt;
  }
  const bool is_east = offset.front() == '+';
  if (hours > (is_east ? 14 : 12)) return std::nullopt;
  return hours == 0 ? "UTC" : fmt::format("Etc/GMT{}{}", is_east ? '-' : '+', hours);
}

void add_cron(const std::string& written, ImportedRule& into) {
  std::string text = written, zone;
  if (!cron_rule(text)) {
    const std::size_t space = text.rfind(' ');
    if (space != text.npos && cron_rule(text.substr(0, space))) {
      zone = text.substr(space + 1);
      text.erase(space);
    }
  }
  const std::optional<CronRule> rule = cron_rule(text);
  const std::optional<FugitRule> meant = fugit_rule(written);
  if (!rule || !meant || !mean_the_same(*rule, meant->rule)) {
    into.problems.push_back(
        rule && meant
            ? fmt::format("cron {} means other days in cron(8), whose syntax brood reads", toml_string(written))
            : fmt::format("cron {} is no rule of cron(8), which brood reads", toml_string(written)));
    return;
  }
  if (zone.starts_with('+') || zone.starts_with('-')) {
    const auto named = zone_for_offset(zone);
    if (!named) {
      into.problems.push_back(
          fmt::format("left out: cron {} has an offset for its time zone: write a rule with `tz`, the name of a zone",
                      toml_string(written)));
      return;
    }
    zone = *named;
  }
  into.lines.push_back("cron = " + toml_string(text));
  if (!zone.empty()) into.lines.push_back("tz = " + toml_string(zone));
}

// "15m", ["15m", {first_in: "1m"}] or seconds, of `every` or `interval`.
void add_interval(const std::string& kind, const YamlValue& every, ImportedRule& into) {
  const YamlValue& interval = every.kind == YamlValue::Kind::list && !every.list.empty() ? every.list[0] : every;
  const auto cron = cron_for_interval(interval.word());
  if (!cron) {
    into.problems.push_back(
        fmt::format("{} {} is no fraction of a minute, an hour or a day: write a cron rule", kind, interval.word()));
    return;
  }
  into.lines.push_back("cron = " + toml_string(*cron));
  into.problems.push_back(
      fmt::format("{} {} counts from the full minute, hour or day here, not from the start of a "
                  "process",
                  kind, interval.word()));
}

void add_args(const YamlValue& args, ImportedRule& into) {
  if (args.kind == YamlValue::Kind::none) return;
  const std::optional<std::string> text = toml_of(args);
  if (!text) {
    into.problems.emplace_back("args hold null, which TOML cannot: add the rule by `brood periodic add`");
    into.lines.clear();
    return;
  }
  into.lines.push_back("args = " + (args.kind == YamlValue::Kind::list ? *text : "[" + *text + "]"));
}

bool is_off(const YamlValue& rule) {
  const YamlValue *status = rule.find("status"), *enabled = rule.find("enabled");
  return (status != nullptr && status->word() == "disabled") || (enabled != nullptr && enabled->truth() == false);
}

// Whether it begins with a capital, as a class of Ruby does.
bool may_name_class(const std::string& name) { return !name.empty() && ascii::is_upper(name.front()); }

}  // namespace

std::string toml_string(const std::string& text) { return json_string(text); }

std::optional<std::string> toml_of(const YamlValue& value) {
  if (value.kind == YamlValue::Kind::list || value.kind == YamlValue::Kind::map) {
    const bool is_list = value.kind == YamlValue::Kind::list;
    std::string all;
    for (std::size_t i = 0; i < (is_list ? value.list.size() : value.map.size()); ++i) {
      const auto element = toml_of(is_list ? value.list[i] : value.map[i].second);
      if (!element) return std::nullopt;
      all += all.empty() ? "" : ", ";
      all += is_list ? *element : toml_string(value.map[i].first) + " = " + *element;
    }
    return is_list ? "[" + all + "]" : "{ " + all + " }";
  }
  const std::string json = json_of(value);
  if (json == "null") return std::nullopt;
  return json;
}

std::optional<std::string> cron_for_interval(const std::string& interval) {
  std::int64_t seconds = 0, number = -1;
  for (const char c : interval) {
    if (ascii::is_digit(c)) {
      number = std::max<std::int64_t>(number, 0) * 10 + (c - '0');
      if (number > longest_interval) return std::nullopt;
      continue;
    }
    const std::int64_t unit = c == 's'   ? 1
                              : c == 'm' ? minute
                              : c == 'h' ? hour
                              : c == 'd' ? day
                              : c == 'w' ? 7 * day
                                         : 0;
    if (number < 0 || unit == 0) return std::nullopt;
    seconds += number * unit;
    number = -1;
    if (seconds > longest_interval) return std::nullopt;
  }
  if (number >= 0) seconds += number;
  if (seconds <= 0) return std::nullopt;
  if (seconds < minute)
    return minute % seconds == 0 ? std::optional(fmt::format("*/{} * * * * *", seconds)) : std::nullopt;
  if (seconds == minute) return "* * * * *";
  if (seconds < hour && seconds % minute == 0 && hour % seconds == 0)
    return fmt::format("*/{} * * * *", seconds / minute);
  if (seconds == hour) return "0 * * * *";
  if (seconds < day && seconds % hour == 0 && day % seconds == 0) return fmt::format("0 */{} * * *", seconds / hour);
  if (seconds == day) return "0 0 * * *";
  if (seconds == 7 * day) return "0 0 * * 0";
  return std::nullopt;
}

ImportedRule import_rule(const std::string& name_of_rule, const YamlValue& rule) {
  ImportedRule imported;
  const YamlValue* named_class = rule.find("class");
  if (named_class == nullptr) named_class = rule.find("klass");
  const std::string job_class = named_class != nullptr         ? named_class->word()
                                : may_name_class(name_of_rule) ? name_of_rule
                                                               : "";
  const YamlValue *cron = rule.find("cron"), *every = rule.find("every"), *interval = rule.find("interval");
  if (job_class.empty()) {
    imported.problems.emplace_back("it names no class");
  } else if (cron != nullptr) {
    add_cron(cron->kind == YamlValue::Kind::list && !cron->list.empty() ? cron->list[0].word() : cron->word(),
             imported);
  } else if (every != nullptr) {
    add_interval("every", *every, imported);
  } else if (interval != nullptr) {
    add_interval("interval", *interval, imported);
  } else {
    imported.problems.emplace_back(
        "it has no cron, every or interval: enqueue such a job once, by `brood enqueue --in`");
  }
  if (imported.lines.empty()) return imported;
  imported.lines.push_back("class = " + toml_string(job_class));
  static const std::set<std::string> known{"class",       "klass",   "cron",       "every",  "interval",
                                           "status",      "enabled", "name",       "args",   "queue",
                                           "description", "retry",   "active_job", "source", "rails_env"};
  for (const auto& [name, value] : rule.map) {
    if (name == "queue" && is_safe_name(value.word())) {
      imported.lines.push_back("queue = " + toml_string(value.word()));
    } else if (name == "retry" && toml_of(value) && (value.truth() || value.number())) {
      imported.lines.push_back("retry = " + *toml_of(value));
    } else if (name == "active_job" && value.truth() == true) {
      imported.problems.emplace_back("it is an Active Job: its class must be known to brood");
    } else if (name == "queue" || name == "retry" || !known.contains(name)) {
      imported.problems.push_back(fmt::format("its {} has no counterpart", name));
    }
  }
  if (is_off(rule)) imported.lines.emplace_back("paused = true");
  if (const YamlValue* args = rule.find("args"); args != nullptr) add_args(*args, imported);
  return imported;
}

}  // namespace brood
