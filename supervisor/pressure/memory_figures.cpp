#include "supervisor/pressure/memory_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

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

// The cgroup in a line like "0::/system.slice/brood.service".  Where workers have cgroups of their own, the supervisor
// is in a leaf beside them, and the cgroup above is meant; see MemoryCgroup.
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

}  // namespace

MemoryFigures::MemoryFigures(const Places& places)
    : host_(places.proc / "pressure/memory"), cgroup_(own_group(places.cgroups)), seen_(events()) {}

MemoryFigures::Events MemoryFigures::events() const {
  Events found;
  if (cgroup_.empty()) return found;
  std::ifstream counters(cgroup_ / "memory.events");
  std::string name;
  int lines = 0;
  for (std::uint64_t value = 0; lines < 32 && counters >> name >> value; ++lines) {
    if (name == "oom" || name == "oom_kill") found.kills += value;
    if (name == "high" || name == "max") found.limits += value;
  }
  return found;
}

PressureReading MemoryFigures::read() {
  PressureReading reading{.stalled = full_avg10(host_)};
  if (!cgroup_.empty()) {
    const auto own = full_avg10(cgroup_ / "memory.pressure");
    if (own) reading.stalled = std::max(*own, reading.stalled.value_or(0));
  }
  const Events now = events(), before = std::exchange(seen_, now);
  reading.killed = now.kills > before.kills;
  reading.at_limit = now.limits > before.limits;
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
