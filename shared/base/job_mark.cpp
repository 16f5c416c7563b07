#include "shared/base/job_mark.hpp"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace brood {
namespace {

// A 32-bit kernel reads larger limits as no limit.
constexpr bool marks_can_name = sizeof(long) == 8;
constexpr FileLocks mark_without_a_name = 0x7fffffff;

// A supervisor that a job has started is younger than the job's own supervisor, so its mark is lower, as it must be.
// The kernel's largest pid has 22 bits; the start time, in hundredths of a second, has 39 for some hundred years.
constexpr int bits_of_a_pid = 22, bits_of_a_time = 39;
constexpr FileLocks highest_name = FileLocks{1} << (bits_of_a_pid + bits_of_a_time + 1);
constexpr FileLocks lowest_name = highest_name / 2;

FileLocks name_of(pid_t supervisor, std::uint64_t start_time) {
  const FileLocks pid = static_cast<FileLocks>(supervisor) & ((FileLocks{1} << bits_of_a_pid) - 1);
  const FileLocks time = start_time & ((FileLocks{1} << bits_of_a_time) - 1);
  return highest_name - (time << bits_of_a_pid | pid);
}

bool is_a_name(FileLocks limit) { return limit > lowest_name && limit <= highest_name; }

// Reads the limit from /proc: prlimit() refuses it for a process of our user that has another group.
std::optional<FileLocks> read_in_proc(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/limits");
  const std::string name = "Max file locks";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream limits(line.substr(name.size()));
    std::string soft, hard;
    if (!(limits >> soft >> hard)) return std::nullopt;
    return hard == "unlimited" ? no_mark : std::strtoull(hard.c_str(), nullptr, 10);
  }
  return std::nullopt;
}

}  // namespace

std::optional<FileLocks> mark_for_children(pid_t supervisor, std::uint64_t start_time, FileLocks own) {
  const FileLocks wanted = marks_can_name ? name_of(supervisor, start_time) : mark_without_a_name;
  if (wanted < own) return wanted;
  if (own == 0) return std::nullopt;
  return own - 1;
}

bool proves_descent(FileLocks limit, pid_t supervisor, std::uint64_t start_time) {
  return marks_can_name && supervisor > 0 && start_time != 0 && limit == name_of(supervisor, start_time);
}

bool disproves_descent(FileLocks limit, pid_t supervisor, std::uint64_t start_time) {
  if (!marks_can_name || supervisor <= 0 || start_time == 0) return false;
  if (proves_descent(limit, supervisor, start_time)) return false;
  return limit == no_mark || is_a_name(limit);
}

std::optional<FileLocks> file_locks_of(pid_t pid) {
  rlimit limit{};
  if (prlimit(pid, RLIMIT_LOCKS, nullptr, &limit) != 0) return read_in_proc(pid);
  return limit.rlim_max == RLIM_INFINITY ? no_mark : static_cast<FileLocks>(limit.rlim_max);
}

bool mark_as_job(pid_t supervisor, std::uint64_t start_time) {
  const auto own = file_locks_of(0);
  const auto mark = own ? mark_for_children(supervisor, start_time, *own) : std::nullopt;
  if (!mark) return false;
  const auto value = static_cast<rlim_t>(*mark);
  const rlimit limit{value, value};
  return prlimit(0, RLIMIT_LOCKS, &limit, nullptr) == 0;
}

}  // namespace brood
