#include "supervisor/workers/end/memory_cgroup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/process_stat.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {
namespace {

using std::filesystem::path;

constexpr std::string_view leaf_prefix = "worker-";
constexpr const char* supervisor_leaf = "supervisor";
const std::vector<std::string> controllers_of_jobs = {"cpu", "pids"};
constexpr int most_ancestors = 64;
constexpr int most_looks = 10;  // for processes forked since the previous look

// Why cgroups cannot limit memory.  Thrown and caught in this file.
struct NotDelegated {
  std::string reason;
};

std::string content(const path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<std::string> words(const path& file) {
  std::istringstream text(content(file));
  std::vector<std::string> found;
  for (std::string word; text >> word;) found.push_back(word);
  return found;
}

bool holds(const path& file, const std::string& wanted) {
  for (const std::string& word : words(file)) {
    if (word == wanted) return true;
  }
  return false;
}

// Writes in one call: cgroupfs accepts or refuses a value as a whole.
void write(const path& file, const std::string& value) {
  const UniqueFd fd(check(("open of " + file.string()).c_str(), ::open(file.c_str(), O_WRONLY | O_CLOEXEC)));
  check(("write to " + file.string()).c_str(), ::write(fd.get(), value.data(), value.size()));
}

void write_if_there(const path& file, const std::string& value) {
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) write(file, value);
}

void require_writable(const path& file) {
  if (access(file.c_str(), W_OK) != 0) throw NotDelegated{file.string() + " cannot be written"};
}

// Reads a line like "0::/system.slice/brood.service"; the other lines belong to other hierarchies.
path own_cgroup(const CgroupPlaces& places) {
  std::istringstream lines(content(places.membership));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return places.root / line.substr(4);
  }
  throw NotDelegated{"this process is in no cgroup of version 2"};
}

// After an upgrade in place the supervisor already is in its leaf.
path base_of(const path& own) {
  const bool in_our_leaf =
      own.filename() == supervisor_leaf && holds(own.parent_path() / "cgroup.subtree_control", "memory");
  return in_our_leaf ? own.parent_path() : own;
}

std::vector<pid_t> processes_in(const path& cgroup) {
  std::vector<pid_t> pids;
  for (const std::string& word : words(cgroup / "cgroup.procs")) {
    pid_t pid = 0;
    std::from_chars(word.data(), word.data() + word.size(), pid);
    pids.push_back(pid);
  }
  return pids;
}

// Also true for a process that has ended meanwhile.
bool descends_from_us(pid_t pid) {
  for (int i = 0; i < most_ancestors && pid > 1; ++i) {
    const auto process = ProcessStat::read(pid);
    if (!process) return true;
    if (process->parent() == getpid()) return true;
    pid = process->parent();
  }
  return false;
}

path find_base(const CgroupPlaces& places) {
  const path base = base_of(own_cgroup(places));
  if (!holds(base / "cgroup.controllers", "memory"))
    throw NotDelegated{"the memory controller is not enabled in " + base.string()};
  // The root of the hierarchy has no limits of its own and must not be reorganised.
  std::error_code ignored;
  if (!std::filesystem::exists(base / "memory.max", ignored)) throw NotDelegated{"this process is in the root cgroup"};
  for (const char* file : {".", "cgroup.procs", "cgroup.subtree_control"}) require_writable(base / file);
  for (const pid_t pid : processes_in(base)) {
    if (pid != getpid() && !descends_from_us(pid)) throw NotDelegated{"other processes are in " + base.string()};
  }
  return base;
}

std::map<std::string, std::uint64_t> counters(const path& file) {
  std::istringstream text(content(file));
  std::map<std::string, std::uint64_t> found;
  std::string name;
  for (std::uint64_t value = 0; text >> name >> plain(value);) found[name] = value;
  return found;
}

MemoryEvents read_events(const path& leaf) {
  auto all = counters(leaf / "memory.events");
  auto local = counters(leaf / "memory.events.local");
  if (local.empty()) local = all;  // before Linux 5.2
  return {
      .oom_kill = all["oom_kill"], .oom_group_kill = all["oom_group_kill"], .max = local["max"], .oom = local["oom"]};
}

// A leaf that was removed and created again counts from zero.
std::uint64_t growth(std::uint64_t before, std::uint64_t now) { return now >= before ? now - before : now; }

bool has_cgroups_of_jobs(const Config& config) {
  return std::any_of(config.classes.begin(), config.classes.end(), [](const auto& known) {
    const auto& sandbox = known.second.sandbox;
    return sandbox && (sandbox->memory_bytes > 0 || sandbox->cpu > 0 || sandbox->processes > 0);
  });
}

}  // namespace

MemoryCgroup::MemoryCgroup(path base) : base_(std::move(base)) {}

std::optional<MemoryCgroup> MemoryCgroup::create(const Config& config, const CgroupPlaces& places) {
  std::uint64_t limit = config.worker.memory_limit_bytes;  // the largest of all capsules
  for (const CapsuleSettings& capsule : config.capsules)
    limit = std::max(limit, capsule.worker.value_or(config.worker).memory_limit_bytes);
  const bool for_jobs = has_cgroups_of_jobs(config);
  if (limit == 0 && !for_jobs) return std::nullopt;
  std::string why_not;
  try {
    MemoryCgroup group(find_base(places));
    group.move_supervisor();
    group.note_leaves();
    if (for_jobs) group.share_out(controllers_of_jobs);
    if (limit > 0) log::info("memory_limit", {{"bytes", limit}, {"by", "cgroup"}, {"cgroup", group.base_.string()}});
    return group;
  } catch (const NotDelegated& refusal) {
    why_not = refusal.reason;
  } catch (const std::system_error& error) {
    why_not = error.what();
  }
  if (limit > 0) log::info("memory_limit", {{"bytes", limit}, {"by", "RLIMIT_DATA"}, {"no_cgroup", why_not}});
  return std::nullopt;
}

void MemoryCgroup::move_supervisor() const {
  const path own = base_ / supervisor_leaf;
  std::filesystem::create_directory(own);
  write(own / "cgroup.procs", "0");
  move_children(own);
  try {
    write(base_ / "cgroup.subtree_control", "+memory");
  } catch (const std::system_error&) {
    write(base_ / "cgroup.procs", "0");  // undoes the change
    std::error_code ignored;
    std::filesystem::remove(own, ignored);
    throw;
  }
}

// Moves all other children, such as workers of a generation without cgroups.  They stay without a limit.
void MemoryCgroup::move_children(const path& into) const {
  for (int i = 0; i < most_looks; ++i) {
    std::vector<pid_t> others = processes_in(base_);
    std::erase(others, getpid());
    if (others.empty()) return;
    for (const pid_t pid : others) {
      try {
        write(into / "cgroup.procs", std::to_string(pid));
      } catch (const std::system_error&) {  // it has ended
      }
    }
  }
}

void MemoryCgroup::follow(const Config& config) const {
  try {
    if (has_cgroups_of_jobs(config)) share_out(controllers_of_jobs);
  } catch (const std::system_error& error) {
    log::warn("cgroups_not_shared_out", {{"reason", error.what()}});
  }
}

// Enables the delegated controllers.  The code that needs a missing one reports that.
void MemoryCgroup::share_out(const std::vector<std::string>& controllers) const {
  for (const std::string& controller : controllers) {
    if (holds(base_ / "cgroup.controllers", controller)) write(base_ / "cgroup.subtree_control", "+" + controller);
  }
}

void MemoryCgroup::note_leaves() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(base_, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(leaf_prefix)) continue;
    int slot = -1;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + leaf_prefix.size(), end, slot);
    if (read.ec == std::errc() && read.ptr == end && slot >= 0) seen_[slot] = read_events(entry.path());
  }
}

path MemoryCgroup::leaf(int slot) const { return base_ / (std::string(leaf_prefix) + std::to_string(slot)); }

void MemoryCgroup::enter(int slot, std::uint64_t limit_bytes) const {
  const path own = leaf(slot);
  std::filesystem::create_directory(own);  // it may exist already, with its last worker's counters
  write(own / "memory.max", limit_bytes == 0 ? "max" : std::to_string(limit_bytes));
  write_if_there(own / "memory.swap.max", "0");
  write_if_there(own / "memory.oom.group", "1");
  write(own / "cgroup.procs", "0");
}

MemoryEvents MemoryCgroup::take_events(int slot) {
  const MemoryEvents now = read_events(leaf(slot));
  const MemoryEvents before = std::exchange(seen_[slot], now);
  return {.oom_kill = growth(before.oom_kill, now.oom_kill),
          .oom_group_kill = growth(before.oom_group_kill, now.oom_group_kill),
          .max = growth(before.max, now.max),
          .oom = growth(before.oom, now.oom)};
}

void MemoryCgroup::clear(int slot) {
  const path own = leaf(slot);
  // cgroup.kill exists since Linux 5.14.  Without it, remaining processes die with their process group, or not at all.
  const UniqueFd kill(::open((own / "cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (kill && ::write(kill.get(), "1", 1) != 1)
    log::warn("cgroup_kill_failed", {{"slot", slot}, {"reason", std::generic_category().message(errno)}});
  if (::rmdir(own.c_str()) == 0) seen_.erase(slot);
}

}  // namespace brood
