#include "worker/crash/core_file.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <fstream>

namespace brood {
namespace {

using namespace std::chrono_literals;

// A core file whose name has no pid belongs to this process only if it is younger than this.  The kernel writes it
// before the death is known, and the report may have to wait for Redis.
constexpr auto freshness = 10min;

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void append_literally(std::string& glob_pattern, char c) {
  if (c == '*' || c == '?' || c == '[' || c == '\\') glob_pattern += '\\';
  glob_pattern += c;
}

struct Expansion {
  std::string glob_pattern;
  bool names_process = false;
};

// Makes a glob pattern of a core(5) pattern.  A part that is not known for sure matches any text: the worker has
// changed its name, and pids differ between namespaces.
Expansion expand(std::string_view pattern, const CrashFacts& facts, bool appends_pid) {
  Expansion expansion;
  std::string& out = expansion.glob_pattern;
  if (!pattern.starts_with('/')) {
    for (const char c : facts.working_directory + "/") append_literally(out, c);
  }
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      append_literally(out, pattern[i]);
    } else if (++i == pattern.size()) {
      break;  // the kernel too drops a single % at the end
    } else if (pattern[i] == '%') {
      out += '%';
    } else if (pattern[i] == 'p') {
      out += std::to_string(facts.pid);
      expansion.names_process = true;
    } else if (pattern[i] == 's') {
      out += std::to_string(facts.signal);
    } else {
      out += '*';
    }
  }
  if (appends_pid && !expansion.names_process) {
    out += "." + std::to_string(facts.pid);
    expansion.names_process = true;
  }
  return expansion;
}

}  // namespace

std::optional<std::string> core_file(const CrashFacts& facts) {
  if (!facts.core_dumped) return std::nullopt;
  return core_file(facts, first_line("/proc/sys/kernel/core_pattern"),
                   first_line("/proc/sys/kernel/core_uses_pid") == "1", wall_now());
}

std::optional<std::string> core_file(const CrashFacts& facts, std::string_view pattern, bool appends_pid,
                                     WallTime now) {
  if (!facts.core_dumped || pattern.empty()) return std::nullopt;
  // The kernel hands the core file to a program, or since Linux 6.16 to a socket ("@" and "@@").
  if (pattern.starts_with('|') || pattern.starts_with('@')) {
    const std::string_view taker = pattern.front() == '|' ? "systemd-coredump" : "/systemd/";
    if (pattern.find(taker) == pattern.npos) return std::nullopt;
    return "coredumpctl info " + std::to_string(facts.pid);
  }
  const Expansion expansion = expand(pattern, facts, appends_pid);
  glob_t found{};
  std::optional<std::string> newest;
  WallTime newest_time{};
  if (glob(expansion.glob_pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      struct stat file {};
      if (lstat(found.gl_pathv[i], &file) != 0 || !S_ISREG(file.st_mode)) continue;
      const WallTime written{std::chrono::seconds(file.st_mtim.tv_sec) +
                             std::chrono::nanoseconds(file.st_mtim.tv_nsec)};
      if (!expansion.names_process && written < now - freshness) continue;
      if (newest && written <= newest_time) continue;
      newest = found.gl_pathv[i];
      newest_time = written;
    }
  }
  globfree(&found);
  return newest;
}

}  // namespace brood
