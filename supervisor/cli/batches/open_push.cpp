#include "supervisor/cli/batches/open_push.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "shared/base/clock.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/process_stat.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"

namespace brood {
namespace {

constexpr double clocks_differ_s = 2;

// The name of this host as a push writes it.
std::string name_of_this_host() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string name(host.data());
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

double age_of(const ProcessStat& process) {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double since_boot = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
  return since_boot - static_cast<double>(process.start_time()) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::optional<Pusher> parse_pusher(std::string_view text) {
  const std::size_t last = text.rfind(' ');
  const std::size_t first = last == text.npos || last == 0 ? text.npos : text.rfind(' ', last - 1);
  if (first == text.npos) return std::nullopt;
  const auto pid = plain_number<pid_t>(text.substr(first + 1, last - first - 1));
  const auto since = plain_number<std::int64_t>(text.substr(last + 1));
  if (!pid || *pid <= 0 || !since) return std::nullopt;
  return Pusher{std::string(text.substr(0, first)), *pid, *since};
}

std::string pusher_text(std::string_view text) {
  const auto pusher = parse_pusher(text);
  if (!pusher) return std::string(text);
  return fmt::format("since {} by {}:{}", iso_time(WallTime(std::chrono::seconds(pusher->since))), pusher->host,
                     pusher->pid);
}

PusherState look_for_pusher(const Pusher& pusher) {
  if (pusher.host != name_of_this_host()) return PusherState::elsewhere;
  if (kill(pusher.pid, 0) == -1 && errno == ESRCH) return PusherState::gone;
  const auto process = ProcessStat::read(pusher.pid);
  if (!process) return PusherState::lives;  // another user's process may be hidden from us
  if (process->state() == 'Z') return PusherState::gone;
  const double began = epoch_seconds(wall_now()) - age_of(*process);
  return began > static_cast<double>(pusher.since) + clocks_differ_s ? PusherState::gone : PusherState::lives;
}

bool is_held_by_the_dead(const BatchRecord& batch, const std::function<PusherState(const Pusher&)>& look) {
  const std::int64_t not_holding = static_cast<std::int64_t>(batch.pushers.size()) - batch.open;
  if (batch.open <= 0 || not_holding < 0) return false;
  const auto gone = std::count_if(batch.pushers.begin(), batch.pushers.end(), [&](const std::string& text) {
    const auto pusher = parse_pusher(text);
    return pusher && look(*pusher) == PusherState::gone;
  });
  return gone > not_holding;
}

}  // namespace brood
