#include "worker/sandbox/job_cgroup.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "shared/base/check.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/unique_fd.hpp"
#include "worker/guard/memory_limit.hpp"

namespace brood {
namespace {

using std::filesystem::path;

constexpr int period_us = 100'000;

// Writes a value by one write(2): so cgroupfs takes it, or refuses it.
void set_value(const path& file, const std::string& value) {
  const UniqueFd fd(check(("open of " + file.string()).c_str(), ::open(file.c_str(), O_WRONLY | O_CLOEXEC)));
  check(("write to " + file.string()).c_str(), ::write(fd.get(), value.data(), value.size()));
}

bool has_word(const path& file, const std::string& wanted) {
  std::ifstream text(file);
  for (std::string word; text >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

// "oom_kill 3", among other lines.
std::optional<std::uint64_t> counter(const path& file, std::string_view wanted) {
  std::ifstream counters(file);
  std::string name;
  for (std::uint64_t count = 0; counters >> name >> plain(count);) {
    if (name == wanted) return count;
  }
  return std::nullopt;
}

std::uint64_t number_in(const path& file) {
  std::uint64_t number = 0;
  std::ifstream(file) >> plain(number);
  return number;
}

std::string quota_of(double cpu) { return std::to_string(std::max(1'000L, std::lround(cpu * period_us))); }

// Whether a list such as "cpu,cpuacct" has that controller.
bool lists(const std::string& controllers, const std::string& controller) {
  return ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
}

}  // namespace

JobCgroup::JobCgroup(int slot, pid_t supervisor, const CgroupPlaces& places)
    : name_(fmt::format("job-{}", slot)), legacy_name_(fmt::format("brood-{}-{}", supervisor, name_)) {
  std::ifstream lines(places.membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(":/", first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), inside = line.substr(second + 2);
    if (controllers.empty()) {
      const path own = places.root / inside;
      const std::string leaf = own.filename();
      if (leaf.starts_with("worker-") || leaf == "supervisor") unified_ = own.parent_path();
    }
    if (lists(controllers, "cpu")) legacy_.cpu = places.root / "cpu" / inside;
    if (lists(controllers, "pids")) legacy_.pids = places.root / "pids" / inside;
    if (lists(controllers, "memory")) legacy_.memory = places.root / "memory" / inside;
  }
}

// The cgroup for a controller; empty if there is none.
path JobCgroup::group_of(const std::string& controller) const {
  if (!unified_.empty() && has_word(unified_ / "cgroup.subtree_control", controller)) return unified_ / name_;
  const path& legacy = controller == "cpu" ? legacy_.cpu : controller == "pids" ? legacy_.pids : legacy_.memory;
  if (legacy.empty() || access(legacy.c_str(), W_OK) != 0) return {};
  return legacy / legacy_name_;
}

std::vector<std::string> JobCgroup::lacks(const SandboxSettings& settings) const {
  std::vector<std::string> missing;
  const auto look = [&](bool wanted, const char* controller, const char* key) {
    if (wanted && group_of(controller).empty())
      missing.push_back(fmt::format("a cgroup with the controller {}, for {}", controller, key));
  };
  look(settings.cpu > 0, "cpu", "cpu");
  look(settings.processes > 0, "pids", "processes");
  look(settings.memory_bytes > 0, "memory", "the memory of all processes of a job together");
  return missing;
}

void JobCgroup::enter(const SandboxSettings& settings) const {
  if (settings.cpu == 0 && settings.processes == 0 && settings.memory_bytes == 0) return;
  const auto enter_group = [&](const path& group, const auto& set_limit) {
    if (group.empty()) return;
    std::filesystem::create_directory(group);
    set_limit(group);
    set_value(group / "cgroup.procs", "0");
  };
  // In version 2 one group has all the limits, and the slot's last job may have been of another class: so each limit is
  // set again.
  enter_group(group_of("pids"), [&](const path& group) {
    set_value(group / "pids.max", settings.processes > 0 ? std::to_string(settings.processes) : "max");
  });
  enter_group(group_of("cpu"), [&](const path& group) {
    const bool is_2 = group.parent_path() == unified_;
    const std::string quota = settings.cpu > 0 ? quota_of(settings.cpu) : is_2 ? "max" : "-1";
    if (!is_2) set_value(group / "cpu.cfs_period_us", std::to_string(period_us));
    set_value(group / (is_2 ? "cpu.max" : "cpu.cfs_quota_us"), is_2 ? fmt::format("{} {}", quota, period_us) : quota);
  });
  enter_group(group_of("memory"), [&](const path& group) {
    const bool is_2 = group.parent_path() == unified_, is_limited = settings.memory_bytes > 0;
    const std::string limit = std::to_string(settings.memory_bytes + MemoryLimit::reserve_bytes);
    set_value(group / (is_2 ? "memory.max" : "memory.limit_in_bytes"), is_limited ? limit : is_2 ? "max" : "-1");
    // Otherwise memory beyond the limit would go to the swap.
    const path swap = group / "memory.swap.max";
    if (is_2 && access(swap.c_str(), F_OK) == 0) set_value(swap, is_limited ? "0" : "max");
  });
}

MemoryCounts JobCgroup::memory_counts() const {
  const path group = group_of("memory");
  if (group.empty()) return {};
  if (group.parent_path() != unified_)
    return {.kills = counter(group / "memory.oom_control", "oom_kill").value_or(0),
            .at_limit = number_in(group / "memory.failcnt")};
  const auto all = counter(group / "memory.events", "oom");  // of the cgroup itself before Linux 5.2
  return {.kills = counter(group / "memory.events", "oom_kill").value_or(0),
          .at_limit = counter(group / "memory.events.local", "oom").value_or(all.value_or(0))};
}

void JobCgroup::remove() const {
  for (const char* const controller : {"pids", "cpu", "memory"}) {
    if (const path group = group_of(controller); !group.empty()) ::rmdir(group.c_str());
  }
}

}  // namespace brood
