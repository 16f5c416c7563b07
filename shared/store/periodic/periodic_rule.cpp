#include "shared/store/periodic/periodic_rule.hpp"

#include <fmt/format.h>

#include <brood/detail/json_reader.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "shared/config/queue_order.hpp"
#include "shared/job/ruby_spelling.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/periodic/cron_rule.hpp"
#include "shared/periodic/zone.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_class = 1'000, longest_label = 255, most_labels = 100;
constexpr std::int64_t most_retries = 1'000'000;

std::string shown(std::string_view text) { return shown_rule(text); }

void check_word(const char* what, const std::string& text, std::size_t longest) {
  if (text.empty()) throw BadPeriodicRule(fmt::format("its {} is missing", what));
  if (text.size() > longest) throw BadPeriodicRule(fmt::format("its {} is longer than {} bytes", what, longest));
  if (text.find('\0') != std::string::npos) throw BadPeriodicRule(fmt::format("its {} has a NUL", what));
}

std::string text_or(const JsonObject& rule, const char* member, const std::string& otherwise) {
  if (!rule.raw(member) || *rule.raw(member) == "null") return otherwise;
  const auto text = rule.string(member);
  if (!text) throw BadPeriodicRule(fmt::format("its {} is no text", member));
  return *text;
}

std::string json_or(const JsonObject& rule, const char* member, const char* otherwise) try {
  return ruby_spelling(rule.raw(member).value_or(otherwise), 1);
} catch (const detail::BadJson& error) {
  throw BadPeriodicRule(fmt::format("its {}: {}", member, error.what()));
}

std::optional<std::chrono::seconds> seconds_of(const JsonObject& rule, const char* member, std::int64_t least,
                                               std::chrono::seconds most) {
  const auto raw = rule.raw(member);
  if (!raw || *raw == "null") return std::nullopt;
  const auto seconds = rule.integer(member);
  if (!seconds || *seconds < least || *seconds > most.count())
    throw BadPeriodicRule(fmt::format("its {} is no whole number of {} to {} seconds", member, least, most.count()));
  return std::chrono::seconds(*seconds);
}

std::string retry_of(const JsonObject& rule) {
  const std::string retry = json_or(rule, "retry", "true");
  if (retry == "true" || retry == "false") return retry;
  const auto count = rule.integer("retry");
  if (!count || *count < 0 || *count > most_retries)
    throw BadPeriodicRule(fmt::format("its retry is not true, false or a number from 0 to {}", most_retries));
  return retry;
}

template <typename Value>
std::optional<Value> choice_of(const JsonObject& rule, const char* member,
                               std::optional<Value> (*value_of)(std::string_view), const char* words) {
  const std::string word = text_or(rule, member, "");
  if (word.empty()) return std::nullopt;
  const auto value = value_of(word);
  if (!value) throw BadPeriodicRule(fmt::format("its {} is not {}, but {}", member, words, shown(word)));
  return value;
}

std::vector<std::string> labels_of(const JsonObject& rule) {
  std::vector<std::string> labels;
  const std::string array = json_or(rule, "enabled_on", "[]");
  if (array.front() != '[') throw BadPeriodicRule("its enabled_on is no array of labels");
  for (const std::string& one : json_elements(array)) {
    if (one.empty() || one.front() != '"') throw BadPeriodicRule("its enabled_on is no array of labels");
    labels.push_back(json_unescape(one));
    check_word("label", labels.back(), longest_label);
  }
  if (labels.size() > most_labels) throw BadPeriodicRule("its enabled_on has too many labels");
  return labels;
}

// The members as JSON, each with a comma before it.
std::string members_of(const JsonObject& rule) {
  const std::string members = json_or(rule, "members", "{}");
  if (members.front() != '{') throw BadPeriodicRule("its members are no object");
  const JsonObject read = JsonObject::parse(members);
  if (read.truthy("encrypt"))
    throw BadPeriodicRule("the arguments of a periodic job are stored in clear: it cannot have encrypt");
  if (read.raw("unique_until") && read.string("unique_until") != "running")
    throw BadPeriodicRule("a periodic job has overlap instead of unique_until");
  for (const char* const own : {"class", "args", "queue", "retry", "jid", "at", "periodic", "periodic_tick",
                                "unique_lock", "created_at", "enqueued_at"}) {
    if (read.raw(own)) throw BadPeriodicRule(fmt::format("its members have {}", own));
  }
  return members.size() > 2 ? "," + members.substr(1, members.size() - 2) : "";
}

JsonWriter what_runs(const PeriodicSettings& job) {
  JsonWriter text;
  text.text("cron", job.cron)
      .text("tz", job.zone)
      .text("class", job.job_class)
      .json("args", job.args)
      .text("queue", job.queue)
      .json("retry", job.retry);
  return text;
}

std::string members_json(const PeriodicSettings& job) {
  return "{" + (job.members.empty() ? "" : job.members.substr(1)) + "}";
}

}  // namespace

PeriodicSettings read_periodic_rule(std::string_view json) try {
  const JsonObject rule = JsonObject::parse(json);
  PeriodicSettings job;
  job.cron = text_or(rule, "cron", "");
  job.rule = CronRule::parse(job.cron);
  job.zone = text_or(rule, "tz", job.zone);
  if (!Zone::find(job.zone)) {
    const auto meant = Zone::like(job.zone);
    throw BadPeriodicRule(fmt::format("this machine knows no time zone {}{}", shown(job.zone),
                                      meant ? "; did you mean \"" + *meant + "\"?" : ""));
  }
  job.job_class = text_or(rule, "class", "");
  check_word("class", job.job_class, longest_class);
  job.args = json_or(rule, "args", "[]");
  if (job.args.front() != '[') throw BadPeriodicRule("its args are no array");
  job.queue = text_or(rule, "queue", job.queue);
  if (!is_safe_queue(job.queue))
    throw BadPeriodicRule(
        fmt::format("the queue {} is not made of letters, digits and _ . : @ / ~ - (at most 255)", shown(job.queue)));
  job.retry = retry_of(rule);
  job.catch_up = choice_of(rule, "catch_up", &catch_up_of, "none, last or all");
  job.within = seconds_of(rule, "within", 1, PeriodicSettings::longest_within);
  job.overlap = choice_of(rule, "overlap", &overlap_of, "allow, skip or queue").value_or(job.overlap);
  job.jitter = seconds_of(rule, "jitter", 0, PeriodicSettings::longest_jitter).value_or(job.jitter);
  job.enabled_on = labels_of(rule);
  job.members = members_of(rule);
  return job;
} catch (const CronError& error) {
  throw BadPeriodicRule(error.what());
} catch (const BadJson& error) {
  throw BadPeriodicRule(error.what());
}

std::string periodic_rule_json(const PeriodicSettings& job) {
  JsonWriter text = what_runs(job);
  if (job.catch_up) text.text("catch_up", name_of(*job.catch_up));
  if (job.within) text.number("within", job.within->count());
  text.text("overlap", name_of(job.overlap)).number("jitter", job.jitter.count());
  if (!job.enabled_on.empty()) text.texts("enabled_on", job.enabled_on);
  return text.json("members", members_json(job)).object();
}

void check_periodic_name(std::string_view name) {
  if (name.starts_with("cron_job:"))
    throw BadPeriodicRule("names that begin with cron_job: are those of sidekiq-cron's schedules");
  if (!is_safe_name(name))
    throw BadPeriodicRule(
        fmt::format("the name {} is not made of letters, digits and _ . : @ / - (at most 255)", shown(name)));
}

std::string periodic_rule_text(const PeriodicSettings& job) { return job.cron + " " + job.zone; }

// Without a pause by the configuration this is the text that earlier releases write: they take any other text for
// another rule.
std::string periodic_definition(const PeriodicSettings& job) {
  JsonWriter text = what_runs(job);
  text.text("catch_up", name_of(job.catches_up()))
      .number("within", job.late_at_most().count())
      .text("overlap", name_of(job.overlap))
      .number("jitter", job.jitter.count())
      .json("members", members_json(job));
  if (!job.paused_at.empty()) text.truth("paused", true);
  return text.object();
}

}  // namespace brood
