#include "worker/testing/run_log.hpp"

#include <algorithm>
#include <charconv>

namespace brood::testing {
namespace {

// Reads `digits` hex digits at the start of `rest`, and removes them from it.
unsigned read_hex(std::string_view& rest, std::size_t digits) {
  const std::string_view text = rest.substr(0, digits);
  unsigned value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  rest.remove_prefix(text.size());
  return value;
}

// Appends a character of two or three bytes: the log writes no longer ones in hex.
void append_utf8(std::string& text, unsigned code) {
  if (code >= 0x800) text += static_cast<char>(0xE0 | (code >> 12));
  text += static_cast<char>(code >= 0x800 ? 0x80 | ((code >> 6) & 0x3F) : 0xC0 | (code >> 6));
  text += static_cast<char>(0x80 | (code & 0x3F));
}

char unescaped(char letter) { return letter == 'n' ? '\n' : letter == 'r' ? '\r' : letter == 't' ? '\t' : letter; }

// Undoes the quoting of shared/base/log_line.cpp.
std::string read_quoted(std::string_view& rest) {
  std::string value;
  rest.remove_prefix(1);
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') break;
    if (c != '\\' || rest.empty()) {
      value += c;
      continue;
    }
    const char escape = rest.front();
    rest.remove_prefix(1);
    if (escape == 'x') {
      value += static_cast<char>(read_hex(rest, 2));
    } else if (escape == 'u') {
      append_utf8(value, read_hex(rest, 4));
    } else {
      value += unescaped(escape);
    }
  }
  return value;
}

LogLine read_line(std::string_view rest) {
  LogLine line;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(" =");
    if (end == rest.npos) break;
    const std::string name(rest.substr(0, end));
    const bool is_fact = rest[end] == '=';
    rest.remove_prefix(end + 1);
    if (!is_fact) continue;  // time and level come before the facts
    if (rest.starts_with('"')) {
      line.facts.try_emplace(name, read_quoted(rest));
    } else {
      const std::string_view value = rest.substr(0, rest.find(' '));
      line.facts.try_emplace(name, value);
      rest.remove_prefix(value.size());
    }
    if (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  return line;
}

}  // namespace

std::string LogLine::fact(std::string_view name) const {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

std::vector<LogLine> lines_of_job(std::string_view log, std::string_view jid) {
  std::vector<LogLine> lines;
  while (!log.empty()) {
    const std::string_view text = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), text.size() + 1));
    if (text.find(jid) == text.npos) continue;
    LogLine line = read_line(text);
    if (line.fact("jid") == jid) lines.push_back(std::move(line));
  }
  return lines;
}

std::string last_lines(std::string_view log) {
  constexpr std::size_t shown = 4000;
  if (log.size() > shown) {
    log.remove_prefix(log.size() - shown);
    log.remove_prefix(std::min(log.size(), log.find('\n') + 1));
  }
  return log.empty() ? "(the log is empty)" : std::string(log);
}

}  // namespace brood::testing
