#include "shared/errors/error_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "shared/base/log_line.hpp"
#include "shared/http/retry_pause.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds longest_asked_for = 1h, usual_limit = 60s;
constexpr std::size_t longest_shown = 200;

// Returns how long a value of X-Sentry-Rate-Limits bars error events.  It reads "60:error;default:organization,
// 2700:session": seconds and categories; a limit without categories is for all.
std::chrono::milliseconds limit_of_events(std::string_view limits) {
  std::chrono::milliseconds longest = 0ms;
  while (!limits.empty()) {
    std::string_view limit = limits.substr(0, limits.find(','));
    limits.remove_prefix(std::min(limits.size(), limit.size() + 1));
    while (limit.starts_with(' ')) limit.remove_prefix(1);
    const std::size_t colon = limit.find(':');
    if (colon == limit.npos) continue;
    std::string_view categories = limit.substr(colon + 1);
    categories = categories.substr(0, categories.find(':'));
    bool counts = categories.empty();
    while (!categories.empty()) {
      const std::string_view category = categories.substr(0, categories.find(';'));
      categories.remove_prefix(std::min(categories.size(), category.size() + 1));
      counts |= category == "error" || category == "default";
    }
    if (counts) longest = std::max(longest, read_retry_after(std::string(limit.substr(0, colon)), longest_asked_for));
  }
  return longest;
}

std::string shown_body(const std::string& body) {
  const std::string text = log::printable(utf8_prefix(body, longest_shown));
  return text.empty() ? "" : ": " + text;
}

}  // namespace

ErrorVerdict judge_error_answer(const HttpEnd& end) {
  ErrorVerdict verdict;
  verdict.was_sent = end.was_sent;
  if (!end.trouble.empty()) {
    verdict.reason = end.trouble;
    return verdict;
  }
  const HttpAnswer& answer = end.answer;
  if (!answer.is_whole()) {
    verdict.reason = "its answer is no HTTP, or cut short";
    return verdict;
  }
  const int status = answer.status();
  verdict.has_answered = true;
  verdict.wait_at_least = limit_of_events(answer.header("x-sentry-rate-limits"));
  if (status >= 200 && status < 300) {
    verdict.kind = ErrorVerdict::Kind::taken;
    return verdict;
  }
  const bool is_limit = status == 429;
  const bool passes = is_limit || status == 408 || status >= 500;
  verdict.kind = passes ? ErrorVerdict::Kind::again : ErrorVerdict::Kind::refused;
  if (passes)
    verdict.wait_at_least = std::max(verdict.wait_at_least, read_retry_after(answer.retry_after(), longest_asked_for));
  if (is_limit && verdict.wait_at_least == 0ms) verdict.wait_at_least = usual_limit;
  verdict.reason = fmt::format("it answered {}{}", status, shown_body(answer.body()));
  return verdict;
}

}  // namespace brood
