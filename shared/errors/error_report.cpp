#include "shared/errors/error_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"

namespace brood {
namespace {

constexpr std::array<std::string_view, 3> names_of_ends{"retry", "dead", "discarded"};

constexpr double latest_time = 9'000'000'000;  // in the year 2255; a clock of nanoseconds ends in 2262
constexpr std::int64_t most_failures = 1'000'000'000;

double read_time(const JsonObject& json, std::string_view key) {
  const double time = json.number(key).value_or(0);
  return time > 0 ? std::min(time, latest_time) : 0;
}

std::vector<std::string> read_texts(const JsonObject& json, std::string_view key, std::size_t most,
                                    std::size_t longest) {
  std::vector<std::string> texts;
  const auto raw = json.raw(key);
  if (!raw || !raw->starts_with('[')) return texts;
  for (const std::string& element : json_elements(*raw)) {
    if (element.starts_with('"') && texts.size() < most) texts.push_back(utf8_prefix(json_unescape(element), longest));
  }
  return texts;
}

std::string raw_of(const JsonObject& json, std::string_view key, char begin) {
  const auto raw = json.raw(key);
  return raw && raw->starts_with(begin) ? std::string(*raw) : "";
}

}  // namespace

std::string_view to_string(ErrorReport::Becomes becomes) { return names_of_ends[static_cast<std::size_t>(becomes)]; }

std::string report_json(const ErrorReport& report) {
  JsonWriter json;
  json.text("class", report.job_class)
      .text("jid", report.jid)
      .text("queue", report.queue)
      .text("error_class", report.error_class)
      .text("error_message", report.message)
      .texts("backtrace", report.backtrace)
      .number("retry_count", report.retry_count);
  if (!report.crash.empty()) json.json("crash", report.crash);
  if (!report.job.empty()) json.json("job", report.job);
  json.text("id", report.id).decimal("at", report.at);
  json.number("attempt", report.attempt()).text("becomes", to_string(report.becomes));
  if (report.retry_at > 0) json.decimal("retry_at", report.retry_at);
  if (!report.fingerprint.empty()) json.text("fingerprint", report.fingerprint);
  if (!report.tags.empty()) json.texts("tags", report.tags);
  if (!report.arguments.empty()) json.json("arguments", report.arguments);
  json.text("host", report.host).text("identity", report.identity);
  if (report.generation > 0) json.number("generation", report.generation);
  if (!report.environment.empty()) json.text("environment", report.environment);
  if (!report.release.empty()) json.text("release", report.release);
  if (report.digest) {
    JsonWriter digest;
    digest.number("failures", report.digest->failures)
        .decimal("since", report.digest->since)
        .decimal("until", report.digest->until);
    if (report.digest->of_several) digest.truth("of_several_classes", true);
    json.json("digest", digest.object());
  }
  return json.object();
}

ErrorReport read_error_report(std::string_view text) {
  const JsonObject json = JsonObject::parse(text);
  const auto word = [&](std::string_view key) {
    return utf8_prefix(json.string(key).value_or(""), longest_report_word);
  };
  ErrorReport report;
  report.id = word("id");
  // The id becomes a part of HTTP headers.
  if (report.id.size() != 32 || report.id.find_first_not_of("0123456789abcdef") != report.id.npos)
    throw BadJson("has no id of 32 hex digits");
  report.at = read_time(json, "at");
  report.job_class = word("class");
  report.jid = word("jid");
  report.queue = word("queue");
  report.error_class = word("error_class");
  report.message = utf8_prefix(json.string("error_message").value_or(""), longest_report_message);
  report.backtrace = read_texts(json, "backtrace", most_report_lines, longest_report_word);
  report.retry_count = std::clamp<std::int64_t>(json.integer("retry_count").value_or(0), 0, most_failures);
  for (std::size_t i = 0; i < names_of_ends.size(); ++i) {
    if (names_of_ends[i] == word("becomes")) report.becomes = static_cast<ErrorReport::Becomes>(i);
  }
  report.retry_at = read_time(json, "retry_at");
  report.crash = raw_of(json, "crash", '{');
  report.job = raw_of(json, "job", '{');
  report.fingerprint = word("fingerprint");
  report.tags = read_texts(json, "tags", most_report_tags, longest_report_tag);
  report.arguments = raw_of(json, "arguments", '[');
  if (report.arguments.size() > longest_report_arguments) report.arguments.clear();
  report.host = word("host");
  report.identity = word("identity");
  report.generation = json.integer("generation").value_or(0);
  report.environment = word("environment");
  report.release = word("release");
  return report;
}

std::string digest_text(const ErrorReport& report) {
  if (!report.digest) return "";
  if (report.digest->of_several)
    return fmt::format("{} more failures of several classes from {:.0f} to {:.0f}", report.digest->failures,
                       report.digest->since, report.digest->until);
  return fmt::format("{} more failures of {} with {} from {:.0f} to {:.0f}", report.digest->failures, report.job_class,
                     report.error_class, report.digest->since, report.digest->until);
}

BacktraceLine read_backtrace_line(std::string_view text) {
  BacktraceLine line;
  const bool is_frame = text.size() > 3 && text[0] == '#' && text[1] >= '0' && text[1] <= '9';
  if (!is_frame || text.find(' ') == text.npos) {
    line.function = text;
    return line;
  }
  text.remove_prefix(text.find(' ') + 1);
  if (const std::size_t open = text.rfind(" ("); open != text.npos && text.ends_with(')')) {
    const std::string_view place = text.substr(open + 2, text.size() - open - 3);
    if (place.find('+') != place.npos || place == "inlined") {
      line.module = place.substr(0, place.find_first_of("+,"));
      if (line.module == "inlined") line.module.clear();
      text = text.substr(0, open);
    }
  }
  if (const std::size_t at = text.rfind(" at "); at != text.npos) {
    const std::string_view where = text.substr(at + 4);
    const std::size_t colon = where.rfind(':');
    const char* const end = where.data() + where.size();
    if (colon != where.npos && std::from_chars(where.data() + colon + 1, end, line.line).ptr == end) {
      line.file = where.substr(0, colon);
      text = text.substr(0, at);
    }
  }
  line.function = text;
  if (line.module.empty() && line.file.empty()) line.module = text.substr(0, text.find('+'));
  return line;
}

}  // namespace brood
