#include "shared/config/reading/setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "shared/base/ascii.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/units.hpp"
#include "shared/config/executable.hpp"
#include "shared/config/http_endpoint.hpp"
#include "shared/config/password_files.hpp"

namespace brood::setting {
namespace {

constexpr std::uint64_t smallest_memory = 1 << 20;  // a number that lacks its M would otherwise kill every worker

}  // namespace

void refuse_word(const Place& place, const std::string& word, const std::vector<std::string>& known) {
  throw UnknownWord(fmt::format("{}: must be \"{}\", not \"{}\"", place.name, fmt::join(known, "\" or \""), word),
                    known);
}

std::int64_t check_count(const Place& place, std::int64_t n, std::int64_t least, std::int64_t most) {
  if (n < least || n > most) place.refuse(fmt::format("must be between {} and {}, not {}", least, most, n));
  return n;
}

std::chrono::milliseconds check_duration(const Place& place, std::chrono::milliseconds d,
                                         std::chrono::milliseconds least, std::chrono::milliseconds most) {
  if (d < least)
    place.refuse(least.count() == 1 ? "must be longer than 0" : "must be at least " + duration_text(least));
  if (d > most) place.refuse("must be at most " + duration_text(most));
  return d;
}

std::string check_text(const Place& place, const std::string& text) {
  if (text.empty()) place.refuse("must not be empty");
  return check_no_nul(place, text);
}

std::string check_name(const Place& place, const std::string& name) {
  if (!is_safe_name(name))
    place.refuse(fmt::format("\"{}\" must be made of letters, digits and _ . : @ / - (at most 255)", name));
  return name;
}

std::string check_queue(const Place& place, const std::string& name) {
  if (!is_safe_queue(name))
    place.refuse(fmt::format("\"{}\" must be made of letters, digits and _ . : @ / ~ - (at most 255)", name));
  return name;
}

std::string check_redis_url(const Place& place, const std::string& url) {
  for (const std::string_view start : {"redis://", "rediss://", "unix:", "sentinel://", "cluster://", "/"}) {
    if (url.starts_with(start)) return check_text(place, url);
  }
  if (url == "embedded") return url;
  place.refuse(  // not quoted: it may hold a password
      "must begin with redis://, rediss://, unix://, sentinel:// or cluster://, or be \"embedded\"");
}

std::string check_listen_address(const Place& place, const std::string& text) {
  try {
    ListenAddress::parse(text);
  } catch (const std::invalid_argument& error) {
    place.refuse(error.what());
  }
  return text;
}

std::chrono::milliseconds read_duration(const Place& place, const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration) place.refuse(fmt::format("must be a duration such as \"25s\", \"2m\" or \"1h30m\", not \"{}\"", text));
  return *duration;
}

std::uint64_t read_memory_limit(const Place& place, const std::string& text) {
  const auto bytes = parse_size(text);
  if (!bytes) place.refuse(fmt::format("must be a size such as \"512M\", \"2G\" or \"0\", not \"{}\"", text));
  if (*bytes > 0 && *bytes < smallest_memory) place.refuse("must be 0 (no limit) or at least \"1M\"");
  return *bytes;
}

log::Level read_level(const Place& place, const std::string& word) {
  using log::Level;
  return choose<Level>(
      place, word, {{"debug", Level::debug}, {"info", Level::info}, {"warn", Level::warn}, {"error", Level::error}});
}

TimeUnit read_time_unit(const Place& place, const std::string& word) {
  return choose<TimeUnit>(place, word,
                          {{"seconds", TimeUnit::float_seconds}, {"milliseconds", TimeUnit::integer_milliseconds}});
}

log::Format read_format(const Place& place, const std::string& word) {
  return choose<log::Format>(place, word, {{"text", log::Format::text}, {"json", log::Format::json}});
}

AppendFsync read_appendfsync(const Place& place, const std::string& word) {
  return choose<AppendFsync>(
      place, word, {{"always", AppendFsync::always}, {"everysec", AppendFsync::everysec}, {"no", AppendFsync::no}});
}

ScheduledQueues read_scheduled_queues(const Place& place, const std::string& word) {
  return choose<ScheduledQueues>(place, word, {{"own", ScheduledQueues::own}, {"all", ScheduledQueues::all}});
}

LeftThreads read_left_threads(const Place& place, const std::string& word) {
  return choose<LeftThreads>(place, word, {{"replace", LeftThreads::replace}, {"allow", LeftThreads::allow}});
}

ExpiredJobs read_expired(const Place& place, const std::string& word) {
  return choose<ExpiredJobs>(place, word, {{"drop", ExpiredJobs::drop}, {"dead", ExpiredJobs::dead}});
}

QueueOrder::Entry read_queue(const Place& place, const std::string& text) {
  try {
    return QueueOrder::parse(text);
  } catch (const std::invalid_argument& error) {
    place.refuse(error.what());
  }
}

std::string read_path(const Place& place, const std::string& path) {
  const std::filesystem::path absolute = working_directory::absolute(check_text(place, path));
  if (absolute.is_relative()) place.refuse("is a relative path, and the working directory of brood is gone");
  return absolute.lexically_normal().string();
}

std::string read_path_or_credential(const Place& at, const std::string& path) {
  if (!names_credential(path)) return read_path(at, path);
  check_name(at, path.substr(path.find(':') + 1));
  return path;
}

std::string check_class_name(const Place& place, const std::string& name) {
  const bool usable = std::all_of(name.begin(), name.end(),
                                  [](char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == ':'; });
  if (name.empty() || !usable)
    place.refuse(fmt::format("\"{}\" is no job class: they are made of letters, digits, _ and :", name));
  return name;
}

std::string check_command_word(const Place& place, const std::string& word) {
  try {
    parse_command_word(check_no_nul(place, word));
  } catch (const std::invalid_argument& error) {
    place.refuse(error.what());
  }
  return word;
}

std::string read_program(const Place& place, const std::string& word) {
  if (check_text(place, word).starts_with("{")) place.refuse("an argument must not name the program");
  return word.find('/') == word.npos ? word : read_path(place, word);
}

std::string check_variable(const Place& place, const std::string& name) {
  if (check_text(place, name).find('=') != name.npos) place.refuse("a variable's name must not contain =");
  return name;
}

std::string check_no_nul(const Place& place, const std::string& text) {
  if (text.find('\0') != text.npos) place.refuse("must not contain a NUL character");
  return text;
}

void set_queues(const Place& place, CapsuleSettings& capsule, std::vector<QueueOrder::Entry> entries) {
  if (entries.empty()) place.refuse("must name at least one queue");
  const auto stars = std::count_if(entries.begin(), entries.end(), [](const auto& entry) { return entry.name == "*"; });
  if (stars > 1) place.refuse("\"*\" takes every queue that no other entry names, and may stand there once");
  try {
    capsule.queues = QueueOrder(std::move(entries));
  } catch (const std::invalid_argument& bad) {
    place.refuse(bad.what());
  }
}

}  // namespace brood::setting
