#include "supervisor/process/strays.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/process_stat.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_killed_a_turn = 256, most_children_seen = 4096;
constexpr std::chrono::milliseconds until_they_are_dead{5}, longest_until_they_are_dead{1'000};
constexpr auto report_interval = 10s;

// Whether the child is being killed.  A process that dies with its parent, such as the one that forks a worker's jobs,
// has got SIGKILL before it becomes our child.
bool is_being_killed(pid_t child) {
  constexpr std::uint64_t exiting = 0x4;  // the kernel's PF_EXITING: it has taken the signal and is freeing its memory
  if (const auto stat = ProcessStat::read(child); stat && (stat->number(9) & exiting) != 0) return true;
  std::ifstream status("/proc/" + std::to_string(child) + "/status");
  for (std::string name; status >> name;) {
    if (name != "ShdPnd:") continue;
    std::string signals;
    status >> signals;
    std::uint64_t pending = 0;
    std::from_chars(signals.data(), signals.data() + signals.size(), pending, 16);
    return (pending >> (SIGKILL - 1) & 1) != 0;
  }
  return false;
}

}  // namespace

Strays::Strays(EventLoop& loop, std::function<bool(pid_t)> is_ours) : is_ours_(std::move(is_ours)), wake_(loop) {
  for (const pid_t child : own_children(most_children_seen)) {
    if (!is_ours_(child)) foreign_.insert(child);
  }
}

void Strays::look_soon() {
  next_look_ = SteadyTime{};
  rest_ = until_they_are_dead;
}

void Strays::look(SteadyTime now) {
  if (!next_look_ || now < *next_look_) return wake_.start_at(next_look_);
  std::size_t seen = 0;
  for (const pid_t child : own_children(most_children_seen)) {
    if (seen == most_killed_a_turn) break;
    if (is_ours_(child) || foreign_.contains(child)) continue;
    if (waitpid(child, nullptr, WNOHANG) == child) {
      ++seen;
      killed_.erase(child);
      continue;
    }
    const bool dies_anyway = is_being_killed(child);
    // A set-user-ID program runs as another user.  We cannot kill it, and a shutdown does not wait for it.
    if (kill(child, SIGKILL) != 0 && errno == EPERM) continue;
    ++seen;
    if (getpgid(child) == child) kill(-child, SIGKILL);
    if (!killed_.insert(child).second || dies_anyway) continue;
    if (count_++ == 0) reported_at_ = now;
  }
  if (seen == 0) {
    killed_.clear();  // those that are not our children any more have been reaped
    next_look_.reset();
  } else if (seen == most_killed_a_turn) {
    next_look_ = now;
  } else {
    // A process that waits in the kernel, say for a disk that does not answer, dies when that wait ends.
    next_look_ = now + rest_;
    rest_ = std::min(2 * rest_, longest_until_they_are_dead);
  }
  wake_.start_at(next_look_);
  if (count_ > 0 && (seen == 0 || now - reported_at_ >= report_interval)) {
    log::warn("strays_killed", {{"count", std::exchange(count_, 0)}});
    reported_at_ = now;
  }
}

}  // namespace brood
