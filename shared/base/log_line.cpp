#include "shared/base/log_line.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "shared/base/ascii.hpp"
#include "shared/base/units.hpp"

namespace brood::log {
namespace {

// Longer values are cut, so that one error message cannot fill the ring.
constexpr std::size_t longest_value = 16 * 1024;

struct LevelWords {
  std::string_view text, json, colour;
  int priority;  // syslog's
};

const LevelWords& words(Level level) {
  static constexpr LevelWords table[] = {{"DEBUG", "debug", "\x1b[2m", 7},
                                         {"INFO", "info", "\x1b[32m", 6},
                                         {"WARN", "warn", "\x1b[33m", 4},
                                         {"ERROR", "error", "\x1b[31m", 3}};
  return table[static_cast<int>(level)];
}

struct CodePoint {
  std::uint32_t value;
  std::size_t bytes;  // 0: not UTF-8
};

CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  static constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {0, 0};
  std::uint32_t value = lead & (0xff >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    value = value << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < smallest[length] || value > 0x10ffff || surrogate) return {0, 0};
  return {value, length};
}

// Characters that a terminal or a log reader acts on: C0, DEL and C1 controls, line separators, and the marks that turn
// the direction of text and so can disguise a line.
bool acts_on_a_reader(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

enum class Escape {
  json,    // for inside a JSON string
  quoted,  // for inside quotes
  plain,   // quotes and backslashes stay
};

// Faster than fmt::format: a job may print megabytes that must be escaped.
void append_hex(std::string& line, std::string_view prefix, std::uint32_t value, int digits) {
  line += prefix;
  for (int i = digits - 1; i >= 0; --i) line += "0123456789abcdef"[(value >> (4 * i)) & 0xf];
}

void append_escaped(std::string& line, std::string_view text, Escape escape) {
  while (!text.empty()) {
    const auto [c, bytes] = decode(text);
    if (bytes == 0) {
      if (escape == Escape::json) {
        line += "\xef\xbf\xbd";
      } else {
        append_hex(line, "\\x", static_cast<unsigned char>(text[0]), 2);
      }
      text.remove_prefix(1);
      continue;
    }
    if ((c == '"' || c == '\\') && escape != Escape::plain) {
      line += '\\';
      line += static_cast<char>(c);
    } else if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else if (c == '\t') {
      line += "\\t";
    } else if (acts_on_a_reader(c)) {
      const bool short_form = escape != Escape::json && c < 0x80;
      append_hex(line, short_form ? "\\x" : "\\u", c, short_form ? 2 : 4);
    } else {
      line += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
}

std::string_view cut(std::string_view value) {
  if (value.size() <= longest_value) return value;
  std::size_t end = longest_value;
  while (end > longest_value - 4 && (static_cast<unsigned char>(value[end]) & 0xc0) == 0x80) --end;
  return value.substr(0, end);
}

bool needs_quotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char c : value) {
    if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7f || c == '"' || c == '=' ||
        c == '\\')
      return true;
  }
  return false;
}

void append_quoted(std::string& line, std::string_view value, Format format) {
  const std::string_view shown = cut(value);
  line += '"';
  append_escaped(line, shown, format == Format::json ? Escape::json : Escape::quoted);
  if (shown.size() < value.size()) line += "...";
  line += '"';
}

void append_text_fact(std::string& line, const Fact& fact) {
  line += ' ';
  line += fact.name;
  line += '=';
  if (needs_quotes(fact.value) || fact.value.size() > longest_value) {
    append_quoted(line, fact.value, Format::text);
  } else {
    line += fact.value;
  }
}

// fmt also prints values that are no JSON numbers: nan, inf, and a char.
bool is_json_literal(std::string_view value) {
  if (value == "true" || value == "false") return true;
  if (value.starts_with('-')) value.remove_prefix(1);
  return !value.empty() && ascii::is_digit(value[0]);
}

bool is_a_member_of_every_line(std::string_view name) {
  return name == "ts" || name == "level" || name == "pid" || name == "event";
}

// The seconds of a fact that is a duration.  In JSON the line has them beside the text, for programs.
std::optional<double> duration_of(const Fact& fact) {
  static constexpr std::string_view names[] = {"after", "again_in", "refill_in", "took", "uptime"};
  if (std::find(std::begin(names), std::end(names), fact.name) == std::end(names)) return std::nullopt;
  const auto duration = parse_duration(fact.value);
  return duration ? std::optional(std::chrono::duration<double>(*duration).count()) : std::nullopt;
}

void append_json_fact(std::string& line, const Fact& fact) {
  line += ",\"";
  line += fact.name;
  if (is_a_member_of_every_line(fact.name)) line += '_';  // a second member of that name would hide the first
  line += "\":";
  if (fact.bare && is_json_literal(fact.value)) {
    line += fact.value;
  } else {
    append_quoted(line, fact.value, Format::json);
  }
  const auto seconds = duration_of(fact);
  if (seconds) line += fmt::format(",\"{}_s\":{:.3f}", fact.name, *seconds);
}

std::string timestamp(WallTime now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(now - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     milliseconds);
}

bool has_fact(std::initializer_list<Fact> facts, std::string_view name) {
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.name == name; });
}

}  // namespace

std::string format_line(const Options& options, Level level, WallTime now, pid_t pid, std::string_view event,
                        std::initializer_list<Fact> facts, const std::vector<Fact>& more) {
  const LevelWords& level_words = words(level);
  std::string line = options.journald ? fmt::format("<{}>", level_words.priority) : "";
  if (options.format == Format::json) {
    line += fmt::format("{{\"ts\":\"{}\",\"level\":\"{}\",\"pid\":{},\"event\":\"{}\"", timestamp(now),
                        level_words.json, pid, event);
    for (const Fact& fact : facts) append_json_fact(line, fact);
    for (const Fact& fact : more)
      if (!has_fact(facts, fact.name)) append_json_fact(line, fact);
    line += '}';
  } else {
    if (!options.journald) line += timestamp(now) + ' ';
    if (options.colour) line += level_words.colour;
    line += level_words.text;
    if (options.colour) line += "\x1b[0m";
    line += fmt::format(" pid={} event={}", pid, event);
    for (const Fact& fact : facts) append_text_fact(line, fact);
    for (const Fact& fact : more)
      if (!has_fact(facts, fact.name)) append_text_fact(line, fact);
  }
  line += '\n';
  return line;
}

std::string printable(std::string_view text) {
  std::string escaped;
  append_escaped(escaped, text, Escape::plain);
  return escaped;
}

std::string printable_json(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  while (!json.empty()) {
    const auto [c, bytes] = decode(json);
    const bool is_white_space = c == '\n' || c == '\r' || c == '\t';  // between values, since JSON has none in strings
    if (bytes == 0) {
      escaped += "\xef\xbf\xbd";
    } else if (acts_on_a_reader(c) && !is_white_space) {
      append_hex(escaped, "\\u", c, 4);
    } else {
      escaped += json.substr(0, bytes);
    }
    json.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return escaped;
}

}  // namespace brood::log

namespace brood::log {
namespace {

constexpr std::size_t most_facts = 16, longest_name = 64, longest_standing_value = 1'000;

struct StandingFact {
  std::string name, value;
};

std::vector<StandingFact>& all() {
  static std::vector<StandingFact> standing;
  return standing;
}

// The facts point to the names in `all()`.
std::vector<Fact>& as_facts() {
  static std::vector<Fact> facts;
  return facts;
}

bool is_name(std::string_view name) {
  constexpr std::array<std::string_view, 5> of_every_line{"ts", "level", "pid", "event", "message"};
  constexpr std::string_view others = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.size() <= longest_name && name.find_first_not_of(others) == std::string_view::npos &&
         std::find(of_every_line.begin(), of_every_line.end(), name) == of_every_line.end();
}

}  // namespace

bool set_standing_fact(std::string_view name, std::string_view value) {
  if (!is_name(name)) return false;
  const std::string kept(value.substr(0, longest_standing_value));
  const auto known =
      std::find_if(all().begin(), all().end(), [&](const StandingFact& one) { return one.name == name; });
  if (known != all().end()) {
    known->value = kept;
  } else if (all().size() < most_facts) {
    all().push_back({std::string(name), kept});
  } else {
    return false;
  }
  as_facts().clear();
  for (const StandingFact& one : all()) as_facts().emplace_back(one.name, one.value);
  return true;
}

void clear_standing_facts() {
  if (all().empty()) return;
  as_facts().clear();
  all().clear();
}

const std::vector<Fact>& standing_facts() { return as_facts(); }

}  // namespace brood::log
