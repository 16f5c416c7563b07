#include "supervisor/cli/lists/job_json.hpp"

#include <chrono>
#include <cmath>
#include <optional>

#include "shared/base/clock.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

constexpr std::size_t enough_to_write = 64 * 1024;

std::optional<double> seconds_at(const std::optional<Time>& time) {
  return time ? std::optional(std::chrono::duration<double>(time->time_since_epoch()).count()) : std::nullopt;
}

void write_job(JsonWriter& json, const JobRecord& job, bool with_stack, ShowArgs shows) {
  json.text("jid", job.jid)
      .text("class", job.job_class)
      .text("display_class", job.display_class)
      .text("queue", job.queue)
      .json("args", told_args_json(job.display_args(), shows))
      .texts("tags", job.tags)
      .decimal("created_at", seconds_at(job.created_at))
      .decimal("enqueued_at", seconds_at(job.enqueued_at))
      .decimal("failed_at", seconds_at(job.failed_at))
      .decimal("retried_at", seconds_at(job.retried_at))
      .number("retry_count", job.retry_count)
      .text("error_class", job.error_class)
      .text("error_message", job.error_message)
      .truth("is_job", job.is_job);
  if (shows == ShowArgs::all)
    json.text("payload", job.payload);
  else
    json.null("payload");
  if (!job.shard.empty()) json.text("shard", job.shard);
  if (with_stack) json.texts("backtrace", job.backtrace());
}

}  // namespace

std::string told_args_json(const std::string& args, ShowArgs shows) {
  if (shows == ShowArgs::none || !is_json(args)) return "null";
  return shows == ShowArgs::keys ? json_shape(args, "null") : args;
}

std::string job_json(const JobRecord& job, bool with_stack, ShowArgs shows) {
  JsonWriter json;
  write_job(json, job, with_stack, shows);
  return json.object();
}

std::string job_json(const SetEntry& entry, bool with_stack, ShowArgs shows) {
  JsonWriter json;
  const bool is_number = std::isfinite(entry.score) && is_json(entry.score_text);
  json.json("score", is_number ? entry.score_text : "null");
  write_job(json, entry, with_stack, shows);
  return json.object();
}

std::string push_json(const Push& push, const std::string& jid) {
  JsonWriter json;
  json.text("jid", jid).text("class", push.job_class).text("queue", push.queue);
  if (push.at) return json.decimal("at", epoch_seconds(WallTime(*push.at))).object();
  return json.null("at").object();
}

std::string refused_push_json(const Push& push, const std::string& holder) {
  return JsonWriter().null("jid").text("class", push.job_class).text("holder", holder).object();
}

void JsonArray::add(const std::string& element) {
  waiting_ += (is_empty_ ? "\n" : ",\n") + element;
  is_empty_ = false;
  if (waiting_.size() < enough_to_write) return;
  print_json(waiting_);
  waiting_.clear();
}

void JsonArray::end() { print_json(waiting_ + (is_empty_ ? "]\n" : "\n]\n")); }

}  // namespace brood
