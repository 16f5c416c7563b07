#include "shared/job/payload.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "shared/job/active_job.hpp"
#include "shared/job/number_member.hpp"

namespace brood {
namespace {

// Integers above this are milliseconds; as seconds they would lie beyond the year 5138.
constexpr double least_milliseconds = 1e11;

// The bounds of WallTime, with some room: the years 2261 and 1938.  The time between these two fits the clock, too.
constexpr double most_seconds = 9.2e9, least_seconds = -1e9;

constexpr std::int64_t nanoseconds_in_second = 1'000'000'000;

std::string shortest(double value) {
  // Without an exponent where people and Ruby expect none; never "2e+09".
  const bool plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e16);
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  return {text.data(), end};
}

bool is_a_name(std::string_view raw) { return raw.front() == '"' && raw != "\"\""; }

}  // namespace

TimeUnit time_unit_of(const JsonObject& object, TimeUnit otherwise) {
  for (const char* const key : {"created_at", "enqueued_at", "failed_at"}) {
    const auto text = object.raw(key);
    if (text && object.number(key))
      return is_json_integer(*text) ? TimeUnit::integer_milliseconds : TimeUnit::float_seconds;
  }
  return otherwise;
}

Payload Payload::parse(std::string_view text) {
  Payload payload;
  payload.read(text);
  return payload;
}

void Payload::read(std::string_view text) {
  opened_ = {};
  try {
    json_.read(text);
  } catch (const BadJson& error) {
    throw BadPayload(std::string("the payload is not a JSON object: ") + error.what());
  }
  check();
}

void Payload::check() {
  const auto job_class = json_.raw("class");
  if (!job_class) throw BadPayload("the payload has no class");
  if (job_class->front() != '"') throw BadPayload("the payload's class is not a string");
  if (*job_class == "\"\"") throw BadPayload("the payload's class is empty");
  const auto args = json_.raw("args");
  if (!args) throw BadPayload("the payload has no args");
  if (args->front() != '[') throw BadPayload("the payload's args are not an array");

  json_unescape(*job_class, job_class_);
  jid_.clear();
  if (const auto jid = json_.raw("jid"); jid && jid->front() == '"') json_unescape(*jid, jid_);
  counted_class_ = job_class_;
  if (const auto name = json_.raw("wrapped"); name && is_a_name(*name)) json_unescape(*name, counted_class_);
  is_active_job_ = wraps_active_job(job_class_);
  display_class_ = counted_class_;
  if (const auto name = json_.raw("display_class"); name && is_a_name(*name)) json_unescape(*name, display_class_);
}

std::string_view Payload::args() const { return raw("args").value_or("[]"); }

std::optional<std::int64_t> Payload::integer(std::string_view key) const {
  const auto text = raw(key);
  return text ? integer_of(*text) : std::nullopt;
}

std::optional<double> Payload::number(std::string_view key) const {
  const auto text = raw(key);
  return text ? number_of(*text) : std::nullopt;
}

std::optional<WallTime> Payload::time(std::string_view key) const {
  const auto within = [](double seconds) { return seconds > least_seconds && seconds < most_seconds; };
  // Integers convert exactly, and are read in less time.  A double cannot hold so many nanoseconds: convert seconds and
  // fraction apart.
  if (const auto whole = integer(key)) {
    const auto number = static_cast<double>(*whole);
    if (number < least_milliseconds)
      return within(number) ? std::optional(WallTime(std::chrono::seconds(*whole))) : std::nullopt;
    return within(number / 1e3) ? std::optional(WallTime(std::chrono::milliseconds(*whole))) : std::nullopt;
  }
  const auto value = number(key);
  if (!value) return std::nullopt;
  const double seconds = *value >= least_milliseconds ? *value / 1e3 : *value;
  if (!within(seconds)) return std::nullopt;
  const double floor = std::floor(seconds);
  return WallTime(std::chrono::seconds(static_cast<std::int64_t>(floor)) +
                  std::chrono::nanoseconds(std::llround((seconds - floor) * 1e9)));
}

double Payload::latency_seconds(WallTime now) const {
  auto since = time("enqueued_at");
  if (!since) since = time("created_at");
  return since ? std::chrono::duration<double>(now - *since).count() : 0.0;
}

Payload Payload::with(const std::vector<Edit>& edits) const {
  try {
    Payload changed;
    changed.json_ = json_.with(edits);
    changed.opened_ = opened_;
    changed.check();
    return changed;
  } catch (const BadJson& error) {
    throw BadPayload(std::string("the payload cannot be changed: ") + error.what());
  }
}

std::string json_time(WallTime t, TimeUnit unit) {
  const std::int64_t nanoseconds = t.time_since_epoch().count();
  if (unit == TimeUnit::integer_milliseconds)
    return std::to_string(std::chrono::floor<std::chrono::milliseconds>(t).time_since_epoch().count());

  // Nanoseconds since the epoch do not fit a double; seconds plus a fraction round only once.
  const double seconds = static_cast<double>(nanoseconds / nanoseconds_in_second) +
                         static_cast<double>(nanoseconds % nanoseconds_in_second) / 1e9;
  return json_float(seconds);  // an integer would be read as milliseconds by release 8
}

std::string score_text(double seconds) { return shortest(seconds); }

}  // namespace brood
