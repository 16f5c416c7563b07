#include "supervisor/process/strays.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/process_stat.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_killed_a_turn = 256, most_children_seen = 4096;
constexpr std::size_t most_processes_scanned = 4096;
constexpr auto until_they_are_dead = 5ms;
constexpr auto report_interval = 10s;

// As much of a file as fits.
std::string content(const char* path, std::size_t most) {
  std::string text(most, '\0');
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::size_t size = 0;
  while (file && size < most) {
    const ssize_t got = ::read(file.get(), text.data() + size, most - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

// Pids with a space behind each: one that is cut off does not count.
std::vector<pid_t> parse_pids(std::string_view text) {
  std::vector<pid_t> pids;
  for (std::size_t space; (space = text.find(' ')) != text.npos; text.remove_prefix(space + 1)) {
    pid_t pid = 0;
    if (std::from_chars(text.data(), text.data() + space, pid).ec == std::errc() && pid > 0) pids.push_back(pid);
  }
  return pids;
}

// For kernels without CONFIG_PROC_CHILDREN.
std::vector<pid_t> children_by_scan(std::size_t most) {
  std::vector<pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  const pid_t self = getpid();
  std::size_t scanned = 0;
  while (const dirent* entry = proc ? readdir(proc.get()) : nullptr) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (++scanned > most_processes_scanned || children.size() >= most) break;
    const pid_t pid = std::atoi(entry->d_name);
    const auto stat = ProcessStat::read(pid);
    if (stat && stat->parent() == self) children.push_back(pid);
  }
  return children;
}

}  // namespace

std::vector<pid_t> own_children(std::size_t most) {
  const std::string list = "/proc/self/task/" + std::to_string(getpid()) + "/children";
  constexpr std::size_t longest_pid = 8;  // seven digits and a space
  if (access(list.c_str(), R_OK) != 0) return children_by_scan(most);
  std::vector<pid_t> children = parse_pids(content(list.c_str(), most * longest_pid));
  if (children.size() > most) children.resize(most);
  return children;
}

Strays::Strays(EventLoop& loop, std::function<bool(pid_t)> is_ours) : is_ours_(std::move(is_ours)), wake_(loop) {
  for (const pid_t child : own_children(most_children_seen)) {
    if (!is_ours_(child)) foreign_.insert(child);
  }
}

void Strays::look(SteadyTime now) {
  if (!next_look_ || now < *next_look_) return wake_.start_at(next_look_);
  std::size_t seen = 0;
  for (const pid_t child : own_children(most_children_seen)) {
    if (seen == most_killed_a_turn) break;
    if (is_ours_(child) || foreign_.contains(child)) continue;
    ++seen;
    if (waitpid(child, nullptr, WNOHANG) == child) {
      killed_.erase(child);
      continue;
    }
    if (getpgid(child) == child) kill(-child, SIGKILL);
    kill(child, SIGKILL);
    if (!killed_.insert(child).second) continue;
    if (count_++ == 0) reported_at_ = now;
  }
  if (seen == 0) {
    killed_.clear();  // what is not our child any more has been reaped by whoever reaps them all
    next_look_.reset();
  } else {
    next_look_ = now + (seen == most_killed_a_turn ? 0ms : until_they_are_dead);
  }
  wake_.start_at(next_look_);
  if (count_ > 0 && (seen == 0 || now - reported_at_ >= report_interval)) {
    log::warn("strays_killed", {{"count", std::exchange(count_, 0)}});
    reported_at_ = now;
  }
}

}  // namespace brood
