#include "shared/job/number_member.hpp"

#include <algorithm>
#include <array>

#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

constexpr std::array<std::string_view, 6> seconds_options{"timeout", "retry_for",  "expires_in",
                                                          "expiry",  "unique_for", "keep_result"};
constexpr std::size_t most_characters_shown = 60;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// By the grammar of JSON: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_json_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = at;
  at = skip_digits(text, at);
  if (at == whole || (text[whole] == '0' && at > whole + 1)) return false;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = at + 1;
    at = skip_digits(text, fraction);
    if (at == fraction) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t exponent = at;
    at = skip_digits(text, exponent);
    if (at == exponent) return false;
  }
  return at == text.size();
}

bool is_unused(std::string_view json) { return json == "null" || json == "false"; }

bool is_seconds(std::string_view json) {
  const auto seconds = number_of(json);
  return seconds && *seconds >= 0;
}

// For `retry` a number in quotes is not sensible: Sidekiq takes any string there for true.
bool is_sensible(std::string_view name, std::string_view json) {
  if (is_unused(json)) return true;
  if (name == "retry") return json == "true" || is_json_integer(json);
  if (name == "backtrace") return json == "true" || number_of(json);
  return is_seconds(json);
}

}  // namespace

std::optional<std::string_view> number_text(std::string_view json) {
  if (json.empty()) return std::nullopt;
  if (json.front() == '-' || is_digit(json.front())) return json;
  if (json.size() < 3 || json.front() != '"') return std::nullopt;
  const std::string_view quoted = json.substr(1, json.size() - 2);
  return is_json_number(quoted) ? std::optional(quoted) : std::nullopt;
}

std::optional<double> number_of(std::string_view json) {
  const auto text = number_text(json);
  return text ? json_number(*text) : std::nullopt;
}

std::optional<std::int64_t> integer_of(std::string_view json) {
  const auto text = number_text(json);
  return text ? json_integer(*text) : std::nullopt;
}

bool is_seconds_option(std::string_view name) {
  return std::ranges::find(seconds_options, name) != seconds_options.end();
}

std::string problem_of_seconds(std::string_view name, std::string_view json) {
  if (is_unused(json) || number_of(json)) return "";
  return std::string(name) + " is no number of seconds: " + utf8_prefix(json, most_characters_shown);
}

std::vector<std::string> ignored_options(const Payload& job) {
  std::vector<std::string> ignored;
  const auto look = [&](std::string_view name) {
    const auto json = job.raw(name);
    if (json && !is_sensible(name, *json))
      ignored.push_back(std::string(name) + "=" + utf8_prefix(*json, most_characters_shown));
  };
  look("retry");
  look("backtrace");
  for (const std::string_view name : seconds_options) look(name);
  return ignored;
}

}  // namespace brood
