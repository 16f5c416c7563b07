#include "supervisor/pressure/memory_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/plain_number.hpp"

namespace brood {
namespace {

using std::filesystem::path;

// "full avg10=0.31 avg60=...", among other lines.
std::optional<double> full_avg10(const path& file) {
  constexpr std::string_view beginning = "full avg10=";
  std::ifstream lines(file);
  std::string line;
  for (int i = 0; i < 8 && std::getline(lines, line); ++i) {
    if (!line.starts_with(beginning)) continue;
    double percent = 0;
    const char* const begin = line.data() + beginning.size();
    const auto read = std::from_chars(begin, line.data() + line.size(), percent);
    if (read.ec == std::errc() && percent >= 0 && percent <= 100) return percent;
  }
  return std::nullopt;
}

// The cgroup in a line like "0::/system.slice/brood.service".  If workers have their own cgroups, the supervisor is in
// a leaf beside them, and the right one is the cgroup above; see MemoryCgroup.
path own_group(const CgroupPlaces& places) {
  std::ifstream lines(places.membership);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0::/")) continue;
    const path own = places.root / line.substr(4);
    return own.filename() == "supervisor" ? own.parent_path() : own;
  }
  return {};
}

bool is_there(const path& file) { return std::ifstream(file).good(); }

struct Counters {
  std::uint64_t high = 0, max = 0, oom = 0, oom_kill = 0;
};

Counters counters_in(const path& file) {
  Counters found;
  std::ifstream counters(file);
  std::string name;
  int lines = 0;
  for (std::uint64_t value = 0; lines < 32 && counters >> name >> plain(value); ++lines) {
    if (name == "high") found.high = value;
    if (name == "max") found.max = value;
    if (name == "oom") found.oom = value;
    if (name == "oom_kill") found.oom_kill = value;
  }
  return found;
}

}  // namespace

MemoryFigures::MemoryFigures(const Places& places)
    : host_(places.proc / "pressure/memory"), cgroup_(own_group(places.cgroups)), seen_(events()) {}

// Counts as its own only events of this very cgroup: a worker or job over its own limit says nothing about the others.
// Kernels before 5.2 do not separate the two.
MemoryFigures::Events MemoryFigures::events() const {
  if (cgroup_.empty()) return {};
  const Counters all = counters_in(cgroup_ / "memory.events");
  const path local = cgroup_ / "memory.events.local";
  const Counters own = is_there(local) ? counters_in(local) : all;
  return {.own_ooms = own.oom, .own_limits = own.high + own.max, .ooms = all.oom, .kills = all.oom_kill};
}

PressureReading MemoryFigures::read() {
  PressureReading reading{.stalled = full_avg10(host_)};
  if (!cgroup_.empty()) {
    const auto own = full_avg10(cgroup_ / "memory.pressure");
    if (own) reading.stalled = std::max(*own, reading.stalled.value_or(0));
  }
  const Events now = events(), before = std::exchange(seen_, now);
  // If no limit was met in this cgroup or below, the host ran out of memory.
  const bool host_killed = now.kills > before.kills && now.ooms == before.ooms;
  reading.killed = now.own_ooms > before.own_ooms || host_killed;
  reading.at_limit = now.own_limits > before.own_limits;
  return reading;
}

std::string MemoryFigures::sources() const {
  std::vector<std::string> read, missing;
  const auto look = [&](const path& file) { (is_there(file) ? read : missing).push_back(file.string()); };
  look(host_);
  if (cgroup_.empty()) {
    missing.emplace_back("a cgroup of version 2");
  } else {
    look(cgroup_ / "memory.pressure");
    look(cgroup_ / "memory.events");
  }
  return fmt::format("reads {}{}{}", read.empty() ? "nothing" : fmt::format("{}", fmt::join(read, ", ")),
                     missing.empty() ? "" : "; not there: ", fmt::join(missing, ", "));
}

}  // namespace brood
