#include "supervisor/otlp/export_verdict.hpp"

#include <fmt/format.h>

#include <charconv>

#include "shared/http/retry_pause.hpp"
#include "shared/json/json_object.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds longest_asked_for = 5min;

// This JSON has 64-bit numbers as strings, and some servers write them as numbers.
std::uint64_t read_count(const JsonObject& object, const char* key) {
  std::string text = object.string(key).value_or(std::string(object.raw(key).value_or("")));
  std::uint64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

void read_partial_success(const std::string& body, ExportVerdict& verdict) {
  try {
    const JsonObject answer = JsonObject::parse(body);
    const auto partial = answer.raw("partialSuccess");
    if (!partial) return;
    const JsonObject success = JsonObject::parse(std::string(*partial));
    verdict.refused = read_count(success, "rejectedSpans");
    if (verdict.refused > 0)
      verdict.reason = utf8_prefix(success.string("errorMessage").value_or("it does not say"), 200);
  } catch (const BadJson&) {  // an empty body or another format: all are taken
  }
}

}  // namespace

ExportVerdict judge_answer(const HttpAnswer& answer) {
  ExportVerdict verdict;
  const int status = answer.status();
  if (!answer.is_whole()) {
    verdict.reason = "its answer is no HTTP, or cut short";
  } else if (status >= 200 && status < 300) {
    verdict.kind = ExportVerdict::Kind::taken;
    read_partial_success(answer.body(), verdict);
  } else {
    const bool passes = status == 429 || (status >= 502 && status <= 504);
    verdict.kind = passes ? ExportVerdict::Kind::again : ExportVerdict::Kind::refused;
    if (passes) verdict.wait_at_least = read_retry_after(answer.retry_after(), longest_asked_for);
    verdict.reason = fmt::format("it answered {}", status);
  }
  return verdict;
}

}  // namespace brood
