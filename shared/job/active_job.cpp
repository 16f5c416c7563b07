#include "shared/job/active_job.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "shared/base/ascii.hpp"
#include "shared/base/log_line.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"

namespace brood {
namespace {

constexpr int deepest = 100;

[[noreturn]] void refuse(const std::string& where, const std::string& why) { throw BadActiveJob(where + " " + why); }

// Takes a number of exactly `digits` digits off the beginning.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min(digits, text.size()), number);
  if (error != std::errc() || end != text.data() + digits || text[0] == '-') return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// The distance from UTC in minutes: "Z", "+01:00".
std::optional<int> take_zone(std::string_view& text) {
  if (take(text, 'Z')) return 0;
  const bool is_west = text.starts_with('-');
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hours = take_digits(text, 2);
  if (!hours || !take(text, ':')) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes) return std::nullopt;
  return (is_west ? -1 : 1) * (*hours * 60 + *minutes);
}

// Seconds since the epoch for "2026-11-29T10:00:00.500000000+01:00", as Ruby's Time#to_f; nullopt: no such text.
std::optional<std::string> seconds_of(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !take(text, 'T')) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second) return std::nullopt;
  std::int64_t micros = 0;
  if (take(text, '.')) {
    for (std::int64_t unit = 100'000; !text.empty() && ascii::is_digit(text[0]); unit /= 10, text.remove_prefix(1))
      micros += unit * (text[0] - '0');
  }
  const auto zone = take_zone(text);
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!zone || !text.empty() || !date.ok() || *hour > 24 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::sys_seconds whole = std::chrono::sys_days(date) + std::chrono::hours(*hour) +
                                         std::chrono::minutes(*minute - *zone) + std::chrono::seconds(*second);
  const std::int64_t all = whole.time_since_epoch().count() * 1'000'000 + micros;
  return fmt::format("{}{}.{:06}", all < 0 ? "-" : "", std::abs(all) / 1'000'000, std::abs(all) % 1'000'000);
}

std::string unwrapped(std::string_view value, const std::string& where, int depth);

// An object that names its serializer: ActiveJob::Serializers::SymbolSerializer, say.
std::string unwrapped_object(const JsonObject& object, const std::string& where) {
  const std::string serializer = object.string("_aj_serialized").value_or("");
  const std::string_view value = object.raw("value").value_or("null");
  const std::string_view name = std::string_view(serializer).substr(serializer.rfind(':') + 1);
  const bool is_ours = serializer.starts_with("ActiveJob::Serializers::");
  const bool is_text = value.starts_with('"');
  if (is_ours && is_text &&
      (name == "SymbolSerializer" || name == "DateSerializer" || name == "ModuleSerializer" ||
       name == "BigDecimalSerializer"))
    return std::string(value);
  if (is_ours && is_text &&
      (name == "TimeSerializer" || name == "DateTimeSerializer" || name == "TimeWithZoneSerializer")) {
    if (auto seconds = seconds_of(json_unescape(value))) return *std::move(seconds);
    refuse(where, fmt::format("is no time of ISO 8601: {}", log::printable(std::string(value.substr(0, 80)))));
  }
  if (is_ours && name == "DurationSerializer" && json_number(value)) return std::string(value);
  refuse(where, fmt::format("is an object of {}, which has no counterpart in JSON: give the job plain values",
                            log::printable(serializer.substr(0, 200))));
}

std::string unwrapped_hash(std::string_view text, const std::string& where, int depth) {
  const JsonOutline outline = JsonOutline::of(text);
  std::string hash;
  for (const JsonOutline::Part& member : outline.parts) {
    if (member.key == "_aj_symbol_keys" || member.key == "_aj_ruby2_keywords" ||
        member.key == "_aj_hash_with_indifferent_access")
      continue;
    if (member.key.starts_with("_aj_"))
      refuse(where,
             fmt::format("has the member {}, which is not known here", log::printable(member.key.substr(0, 80))));
    const std::string_view value = text.substr(member.value_begin, member.value_end - member.value_begin);
    hash += (hash.empty() ? "" : ",") + json_string(member.key) + ":" + unwrapped(value, where, depth + 1);
  }
  return "{" + hash + "}";
}

std::string unwrapped(std::string_view value, const std::string& where, int depth) {
  if (depth > deepest) refuse(where, "is nested too deeply");
  if (value.starts_with('[')) {
    std::string list;
    for (const std::string& element : json_elements(value))
      list += (list.empty() ? "" : ",") + unwrapped(element, where, depth + 1);
    return "[" + list + "]";
  }
  if (!value.starts_with('{')) return std::string(value);
  const JsonObject object = JsonObject::parse(value);
  if (const auto gid = object.raw("_aj_globalid")) {
    if (!gid->starts_with('"')) refuse(where, "has a GlobalID that is no text");
    return std::string(*gid);
  }
  if (object.raw("_aj_serialized")) return unwrapped_object(object, where);
  return unwrapped_hash(value, where, depth);
}

}  // namespace

bool wraps_active_job(std::string_view job_class) {
  return job_class == "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper" ||
         job_class == "Sidekiq::ActiveJob::Wrapper";
}

std::string active_job_arguments(std::string_view args) try {
  const std::vector<std::string> elements = json_elements(args);
  if (elements.size() != 1 || !elements[0].starts_with('{')) throw BadActiveJob("the Active Job is no object");
  const JsonObject job = JsonObject::parse(elements[0]);
  const std::string_view arguments = job.raw("arguments").value_or("");
  if (!arguments.starts_with('[')) throw BadActiveJob("the Active Job has no arguments");
  std::string all;
  int number = 0;
  for (const std::string& argument : json_elements(arguments)) {
    all += number > 0 ? "," : "";
    all += unwrapped(argument, fmt::format("argument {} of the Active Job", ++number), 0);
  }
  return "[" + all + "]";
} catch (const BadJson& error) {
  throw BadActiveJob(std::string("the Active Job cannot be read: ") + error.what());
}

}  // namespace brood
