#include "supervisor/cli/job_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "shared/json/json.hpp"
#include "supervisor/cli/terminal.hpp"

namespace brood {
namespace {

constexpr std::size_t enough_to_write = 64 * 1024;

std::string json_of(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(json_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

std::string json_of(const std::optional<Time>& time) {
  return time ? fmt::format("{:.3f}", std::chrono::duration<double>(time->time_since_epoch()).count()) : "null";
}

std::string members_of(const JobRecord& job, bool with_stack) {
  std::string text = fmt::format(
      R"("jid":{},"class":{},"display_class":{},"queue":{},"args":{},"tags":{},"created_at":{},"enqueued_at":{},)"
      R"("failed_at":{},"retried_at":{},"retry_count":{},"error_class":{},"error_message":{},"is_job":{},"payload":{})",
      json_string(job.jid), json_string(job.job_class), json_string(job.display_class), json_string(job.queue),
      is_json(job.args) ? job.args : "null", json_of(job.tags), json_of(job.created_at), json_of(job.enqueued_at),
      json_of(job.failed_at), json_of(job.retried_at), job.retry_count ? std::to_string(*job.retry_count) : "null",
      json_string(job.error_class), json_string(job.error_message), job.is_job, json_string(job.payload));
  if (with_stack) text += R"(,"backtrace":)" + json_of(job.backtrace());
  return text;
}

}  // namespace

std::string job_json(const JobRecord& job, bool with_stack) { return "{" + members_of(job, with_stack) + "}"; }

std::string job_json(const SetEntry& entry, bool with_stack) {
  const std::string score = std::isfinite(entry.score) ? entry.score_text : "null";
  return fmt::format(R"({{"score":{},{}}})", is_json(score) ? score : "null", members_of(entry, with_stack));
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
