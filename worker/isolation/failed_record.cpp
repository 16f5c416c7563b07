#include "worker/isolation/failed_record.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "shared/job/expiry.hpp"
#include "shared/job/page_text.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/json/json.hpp"
#include "worker/isolation/job_messages.hpp"

namespace brood {
namespace {

constexpr std::array changed_by_failures{"retry",     "queue",      "error_message", "error_class",
                                         "failed_at", "retried_at", "retry_count",   "error_backtrace",
                                         "crash",     "expiry",     "overrated"};

std::string without_changes(const Payload& job) {
  std::vector<Payload::Edit> removed;
  for (const char* const key : changed_by_failures) removed.push_back({key, std::nullopt});
  return job.with(removed).text();
}

bool is_page_text(const std::string& text) { return page_text(text) == text; }

bool is_page_backtrace(const std::optional<std::string>& encoded) {
  if (!encoded) return false;
  const auto lines = decode_backtrace(*encoded);
  return lines && std::all_of(lines->begin(), lines->end(), is_page_text);
}

bool may_be_retried_in(const std::optional<std::string>& wanted, const Payload& job, std::string_view queue) {
  const auto retry_queue = job.string("retry_queue");
  return wanted == (retry_queue && !retry_queue->empty() ? *retry_queue : queue);
}

// A failure adds `retry` to a job that has none.
bool may_be_its_retry(const Payload& record, const Payload& job) {
  const bool says_nothing = !job.raw("retry") || job.raw("retry") == "null";
  return says_nothing && (record.raw("retry") == "true" || is_json_integer(record.raw("retry").value_or("")));
}

}  // namespace

void check_failed_record(const Payload& record, const Payload& job, std::string_view queue) {
  const auto require = [](bool holds, const char* why) {
    if (!holds) throw BadMessage(why);
  };
  require(record.jid() == job.jid() && record.job_class() == job.job_class(),
          "what is to become of the job is another job");
  require(without_changes(record) == without_changes(job), "what is to become of the job has other members than it");
  const auto is_as_before = [&](const char* key) { return record.raw(key) == job.raw(key); };
  require(is_as_before("queue") || may_be_retried_in(record.string("queue"), job, queue),
          "what is to become of the job goes to another queue");
  require(is_as_before("retry") || may_be_its_retry(record, job), "what is to become of the job has another retry");
  require(is_as_before("retry_count") || record.raw("retry_count") == std::to_string(failure_count(job)),
          "what is to become of the job counts its failures wrongly");
  require(is_as_before("overrated") || !record.raw("overrated"),
          "what is to become of the job counts wrongly how often it was put off");
  require(is_as_before("crash") || !record.raw("crash"), "what is to become of the job has a crash of its own making");
  const auto kept = kept_expiry(job);
  require(is_as_before("expiry") || (kept && record.raw("expiry") == kept->raw),
          "what is to become of the job expires at another time");
  require(is_as_before("error_class") || is_page_text(record.string("error_class").value_or("<")),
          "the error of the job is no name");
  require(is_as_before("error_message") || record.string("error_message"), "the message of the error is no text");
  require(is_as_before("error_backtrace") || !record.raw("error_backtrace") ||
              is_page_backtrace(record.string("error_backtrace")),
          "the stack of the error is none");
  for (const char* const when : {"failed_at", "retried_at"})
    require(is_as_before(when) || record.time(when), "the time of the failure is none");
}

}  // namespace brood
