#include "shared/job/expiry.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "shared/base/planted_bug.hpp"

namespace brood {
namespace {

constexpr double least_milliseconds_of_expiry = 1e11;  // as in every other time of a payload
constexpr double latest_expiry_s = 9.2e9;              // the latest that the clock can hold; a later one never comes

std::optional<double> positive_number(const Payload& job, std::string_view key) {
  const std::optional<double> value = job.number(key);
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

std::optional<WallTime> time_at(double seconds) {
  if (!(seconds < latest_expiry_s)) return std::nullopt;
  return WallTime(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)));
}

std::optional<WallTime> after(WallTime origin, double seconds) {
  if (!(epoch_seconds(origin) + seconds < latest_expiry_s)) return std::nullopt;
  return origin + std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

// The time from which `expires_in` counts, as far as the payload shows.
std::optional<WallTime> origin_of(const Payload& job) {
  const auto enqueued = job.time("enqueued_at"), failed = job.time("failed_at");
  if (!enqueued) return std::nullopt;
  return failed ? std::min(*enqueued, *failed) : enqueued;
}

Payload::Edit expiry_edit(WallTime expiry) { return {"expiry", json_time(expiry, TimeUnit::float_seconds)}; }

}  // namespace

std::optional<WallTime> expiry_of(const Payload& job) {
  const bool has_expiry = job.raw("expiry").has_value(), has_length = job.raw("expires_in").has_value();
  if ((!has_expiry && !has_length) || job.raw("expired_at")) return std::nullopt;
  if (has_expiry) {
    if (const auto value = positive_number(job, "expiry"))
      return time_at(*value >= least_milliseconds_of_expiry ? *value / 1e3 : *value);
  }
  const auto length = positive_number(job, "expires_in");
  const auto origin = length ? origin_of(job) : std::nullopt;
  return origin ? after(*origin, *length) : std::nullopt;
}

std::optional<Payload::Edit> kept_expiry(const Payload& job) {
  if (planted(PlantedBug::requeued_job_gets_more_time)) return std::nullopt;
  if (!job.raw("expires_in") || positive_number(job, "expiry")) return std::nullopt;
  const auto expiry = expiry_of(job);
  return expiry ? std::optional(expiry_edit(*expiry)) : std::nullopt;
}

std::optional<Payload::Edit> kept_expiry(const Payload& job, WallTime origin) {
  if (!job.raw("expires_in") || positive_number(job, "expiry")) return std::nullopt;
  const auto length = positive_number(job, "expires_in");
  const auto expiry = length ? after(origin, *length) : std::nullopt;
  return expiry ? std::optional(expiry_edit(*expiry)) : std::nullopt;
}

std::optional<Payload::Edit> renewed_expiry(const Payload& job, WallTime now) {
  const auto length = positive_number(job, "expires_in");
  const auto expiry = length ? after(now, *length) : std::nullopt;
  if (expiry) return expiry_edit(*expiry);
  if (job.raw("expiry")) return Payload::Edit{"expiry", std::nullopt};
  return std::nullopt;
}

}  // namespace brood
