#include "supervisor/workers/template/shared_by_copies.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <sstream>

#include "shared/base/plain_number.hpp"

namespace brood {
namespace {

std::vector<int> numbers_in(const char* directory) {
  std::vector<int> numbers;
  DIR* const open = opendir(directory);
  if (open == nullptr) return numbers;
  while (const dirent* entry = readdir(open)) {
    const std::optional<int> number = plain_number<int>(entry->d_name);
    if (number && *number != dirfd(open)) numbers.push_back(*number);
  }
  closedir(open);
  return numbers;
}

std::string first_line(const std::string& file) {
  std::string line;
  std::ifstream stream(file);
  std::getline(stream, line);
  return line;
}

void add_threads(std::vector<std::string>& shared) {
  for (const int thread : numbers_in("/proc/self/task")) {
    if (thread == getpid()) continue;
    shared.push_back("a thread named " + first_line("/proc/self/task/" + std::to_string(thread) + "/comm"));
  }
}

// Memory devices such as /dev/null have no state.  A device with a state, such as a graphics card, does not survive a
// fork.
bool is_stateless_device(const struct stat& about) {
  constexpr std::array<unsigned, 6> stateless{1, 3, 5, 7, 8, 9};  // mem, null, zero, full, random, urandom
  return major(about.st_rdev) == 1 &&
         std::find(stateless.begin(), stateless.end(), minor(about.st_rdev)) != stateless.end();
}

std::optional<std::string> state_of(int descriptor) {
  struct stat about {};
  if (fstat(descriptor, &about) != 0) return std::nullopt;
  if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) return std::nullopt;
  if (S_ISSOCK(about.st_mode)) return "a socket";
  if (S_ISFIFO(about.st_mode)) return "a pipe";
  char target[256];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), target, sizeof target);
  const std::string name(target, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (S_ISCHR(about.st_mode) && is_stateless_device(about)) return std::nullopt;
  return name.empty() ? "something open" : name;
}

void add_descriptors(const std::set<int>& known, std::vector<std::string>& shared) {
  for (const int descriptor : numbers_in("/proc/self/fd")) {
    if (known.contains(descriptor)) continue;
    if (const auto state = state_of(descriptor))
      shared.push_back(*state + " (descriptor " + std::to_string(descriptor) + ")");
  }
}

void add_timers(std::vector<std::string>& shared) {
  for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval timer{};
    if (getitimer(which, &timer) == 0 && (timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0))
      shared.emplace_back("an interval timer, or an alarm");
  }
  if (!first_line("/proc/self/timers").empty()) shared.emplace_back("a timer");
}

// "1: POSIX  ADVISORY  WRITE 1234 fe:00:77 0 EOF"
void add_locks(std::vector<std::string>& shared) {
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode;
    long pid = 0;
    if (words >> number >> kind >> advisory >> mode >> plain(pid) && pid == getpid())
      shared.emplace_back("a lock of a file");
  }
}

void add_children(std::vector<std::string>& shared) {
  const std::string own = std::to_string(getpid());
  std::istringstream pids(first_line("/proc/self/task/" + own + "/children"));
  for (std::string pid; pids >> pid;) shared.push_back("a process that they started (" + pid + ")");
}

}  // namespace

std::set<int> open_descriptors() {
  const std::vector<int> open = numbers_in("/proc/self/fd");
  return {open.begin(), open.end()};
}

std::vector<std::string> shared_by_copies(const std::set<int>& known) {
  std::vector<std::string> shared;
  add_threads(shared);
  add_descriptors(known, shared);
  add_timers(shared);
  add_locks(shared);
  add_children(shared);
  return shared;
}

}  // namespace brood
