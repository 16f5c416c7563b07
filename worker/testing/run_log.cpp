#include "worker/testing/run_log.hpp"

#include <algorithm>
#include <charconv>

namespace brood::testing {
namespace {

// The other way round than shared/log_line.cpp.
std::string unquoted(std::string_view& rest) {
  std::string value;
  for (rest.remove_prefix(1); !rest.empty() && rest.front() != '"'; rest.remove_prefix(1)) {
    if (rest.front() != '\\' || rest.size() < 2) {
      value += rest.front();
      continue;
    }
    rest.remove_prefix(1);
    unsigned byte = 0;
    switch (rest.front()) {
      case 'n':
        value += '\n';
        break;
      case 'r':
        value += '\r';
        break;
      case 't':
        value += '\t';
        break;
      case 'x':
        std::from_chars(rest.data() + 1, rest.data() + std::min<std::size_t>(rest.size(), 3), byte, 16);
        value += static_cast<char>(byte);
        rest.remove_prefix(std::min<std::size_t>(rest.size() - 1, 2));
        break;
      default:
        value += rest.front();
    }
  }
  if (!rest.empty()) rest.remove_prefix(1);
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
    if (!is_fact) continue;  // time and level stand before the facts
    if (rest.starts_with('"')) {
      line.facts.try_emplace(name, unquoted(rest));
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
