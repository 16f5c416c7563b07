#include "supervisor/cli/jobs/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/units.hpp"
#include "shared/json/json.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_line = 100;

WallTime wall_time(Time time) { return WallTime(time.time_since_epoch()); }

std::string line(const Style& style, std::string_view name, const std::string& text) {
  return fmt::format("  {}  {}\n", style.dim(fmt::format("{:<12}", name)), text);
}

std::string time_line(const Style& style, std::string_view name, const std::optional<Time>& time) {
  if (!time) return "";
  return line(style, name, fmt::format("{} ({})", iso_time(wall_time(*time)), when_text(*time)));
}

// A text of one or more lines, each made printable and indented.
std::string indented(std::string_view text, std::size_t indent) {
  std::string all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    all += (all.empty() ? "" : "\n" + std::string(indent, ' ')) + log::printable(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

// Members that other lines show, or that are unreadable for people.
bool is_said(const std::string& member) {
  static const std::set<std::string> said = {"class",       "display_class", "wrapped",        "args",
                                             "jid",         "queue",         "tags",           "created_at",
                                             "enqueued_at", "failed_at",     "retried_at",     "retry_count",
                                             "error_class", "error_message", "error_backtrace"};
  return said.contains(member);
}

std::string other_members(const JobRecord& job, const Style& style) {
  std::string text;
  const JsonOutline outline = JsonOutline::of(job.payload);
  for (const JsonOutline::Part& part : outline.parts) {
    if (is_said(part.key)) continue;
    const std::string_view raw =
        std::string_view(job.payload).substr(part.value_begin, part.value_end - part.value_begin);
    text += line(style, log::printable(part.key), indented(pretty_json(raw, 0), 16));
  }
  return text;
}

std::string lines_of(const JobRecord& job, const Style& style) {
  if (!job.is_job) return "  " + style.yellow("This is not a job:") + "\n  " + indented(job.payload, 2) + "\n";
  std::string text = line(style, "class", log::printable(job.display_class));
  if (job.display_class != job.job_class) text += line(style, "run by", log::printable(job.job_class));
  text += line(style, "args", indented(pretty_json(job.display_args(), 0), 16));
  text += line(style, "queue", log::printable(job.queue));
  if (!job.tags.empty()) text += line(style, "tags", log::printable(fmt::format("{}", fmt::join(job.tags, ", "))));
  text += time_line(style, "created", job.created_at) + time_line(style, "enqueued", job.enqueued_at) +
          time_line(style, "failed", job.failed_at) + time_line(style, "retried", job.retried_at);
  if (job.retry_count) text += line(style, "retries", fmt::format("{} so far", *job.retry_count));
  if (!job.error_class.empty() || !job.error_message.empty())
    text += line(style, "error", style.red(log::printable(job.error_class)) + ": " + indented(job.error_message, 16));
  text += other_members(job, style);
  const std::vector<std::string> stack = job.backtrace();
  if (!stack.empty()) text += "  " + style.dim("stack") + "\n";
  for (const std::string& frame : stack) text += "    " + log::printable(frame) + "\n";
  return text;
}

}  // namespace

std::string when_text(Time time) {
  // In milliseconds before the comparison: nanoseconds from now to the ends of the clock would overflow.
  const auto away = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch() -
                    std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()).time_since_epoch();
  // In whole seconds; below one second in milliseconds.
  const auto shown = [](std::chrono::milliseconds age) {
    return duration_text(age < std::chrono::seconds(1) ? age : std::chrono::floor<std::chrono::seconds>(age));
  };
  return away.count() > 0 ? "in " + shown(away) : shown(-away) + " ago";
}

std::string error_text(const JobRecord& job) {
  return job.error_message.empty() ? job.error_class : job.error_class + ": " + job.error_message;
}

std::string whole_text(const JobRecord& job, const Style& style) {
  return style.bold(log::printable(job.jid)) + "\n" + lines_of(job, style);
}

std::string whole_text(const SetEntry& entry, const std::string& what_its_time_is, const Style& style) {
  return style.bold(log::printable(entry.jid)) + "\n" + time_line(style, what_its_time_is, entry.time()) +
         lines_of(entry, style);
}

std::string pretty_json(std::string_view json, std::size_t indent) {
  if (indent + json.size() <= longest_line) return std::string(json);
  const JsonOutline outline = JsonOutline::of(json);
  if (outline.kind == JsonOutline::Kind::scalar || outline.parts.empty()) return std::string(json);
  const bool is_object = outline.kind == JsonOutline::Kind::object;
  std::string text = is_object ? "{" : "[";
  for (const JsonOutline::Part& part : outline.parts) {
    text += (text.size() == 1 ? "\n" : ",\n") + std::string(indent + 2, ' ');
    if (is_object) text += json_string(part.key) + ": ";
    text += pretty_json(json.substr(part.value_begin, part.value_end - part.value_begin), indent + 2);
  }
  return text + "\n" + std::string(indent, ' ') + (is_object ? "}" : "]");
}

}  // namespace brood
