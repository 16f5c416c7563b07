#include "tests/support/footprint.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/file_text.hpp"

namespace brood {

namespace {

std::string in_proc(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

std::size_t count_descriptors(pid_t pid) {
  std::error_code gone;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator at(in_proc(pid, "fd"), gone), end; !gone && at != end; at.increment(gone))
    ++count;
  return count;
}

long rss_of(pid_t pid) {
  const std::string status = text_of_file(in_proc(pid, "status"));
  const std::size_t at = status.find("VmRSS:");
  return at == status.npos ? 0 : std::strtol(status.c_str() + at + 6, nullptr, 10);
}

// Words 14 and 15 of its stat.  The name before them may contain anything.
std::chrono::milliseconds cpu_of(pid_t pid) {
  const std::string stat = text_of_file(in_proc(pid, "stat"));
  std::istringstream words(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int word = 3; word < 14; ++word) words >> skipped;
  long user = 0, system = 0;
  words >> user >> system;
  return std::chrono::milliseconds((user + system) * 1000 / sysconf(_SC_CLK_TCK));
}

}  // namespace

Footprint footprint_of(pid_t pid) {
  Footprint found{.rss_kb = rss_of(pid), .descriptors = count_descriptors(pid), .cpu = cpu_of(pid)};
  std::istringstream children(text_of_file(in_proc(pid, "task/") + std::to_string(pid) + "/children"));
  for (pid_t child = 0; children >> child;)
    found.zombies += text_of_file(in_proc(child, "stat")).find(") Z ") != std::string::npos;
  return found;
}

std::vector<pid_t> processes_of(const std::string& directory) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (std::filesystem::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
    const pid_t pid = std::atoi(at->path().filename().c_str());
    if (pid <= 0 || !process_exists(pid)) continue;
    if (text_of_file(in_proc(pid, "maps")).find(" " + directory + "/") != std::string::npos) found.push_back(pid);
  }
  return found;
}

}  // namespace brood
