#include <algorithm>

#include "shared/api/api_state.hpp"
#include "shared/api/entries.hpp"
#include "shared/api/readings.hpp"
#include "shared/job/page_text.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"

namespace brood {
namespace {

std::optional<Time> time_member(const Payload& job, std::string_view name) {
  const auto time = job.time(name);
  return time ? std::optional(to_time(*time)) : std::nullopt;
}

}  // namespace

std::vector<std::string> string_elements(std::optional<std::string_view> array) {
  std::vector<std::string> strings;
  if (!array || !array->starts_with('[')) return strings;
  for (const std::string& element : json_elements(*array)) {
    if (element.starts_with('"')) strings.push_back(json_unescape(element));
  }
  return strings;
}

JobRecord JobRecord::read(std::string payload) {
  JobRecord record;
  try {
    const Payload job = Payload::parse(payload);
    record.is_job = true;
    record.jid = job.jid();
    record.queue = job.string("queue").value_or("");
    record.job_class = job.job_class();
    record.display_class = job.display_class();
    record.args = job.args();
    record.tags = string_elements(job.raw("tags"));
    record.created_at = time_member(job, "created_at");
    record.enqueued_at = time_member(job, "enqueued_at");
    record.failed_at = time_member(job, "failed_at");
    record.retried_at = time_member(job, "retried_at");
    record.retry_count = job.integer("retry_count");
    record.error_class = from_page_text(job.string("error_class").value_or(""));
    record.error_message = job.string("error_message").value_or("");
  } catch (const BadPayload&) {
  }
  record.payload = std::move(payload);
  return record;
}

std::optional<std::string> JobRecord::member(std::string_view name) const {
  try {
    const JsonObject object = JsonObject::parse(payload);
    const auto raw = object.raw(name);
    return raw ? std::optional<std::string>(*raw) : std::nullopt;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

std::string JobRecord::display_args() const { return is_job ? shown_args(payload) : args; }

std::vector<std::string> JobRecord::backtrace() const {
  const auto raw = member("error_backtrace");
  if (!raw) return {};
  if (!raw->starts_with('"')) return string_elements(*raw);  // as Sidekiq 5 wrote it
  return decode_backtrace(json_unescape(*raw)).value_or(std::vector<std::string>{});
}

Time SetEntry::time() const {
  constexpr double most = 9.1e9;  // the clock holds a little more
  return lenient_time(std::clamp(score, -most, most));
}

}  // namespace brood
