#include "supervisor/pressure/pressure_relief.hpp"

#include <fmt/format.h>

#include <utility>

#include "shared/base/log.hpp"
#include "shared/json/json_writer.hpp"

namespace brood {
namespace {

MemoryFigures::Places places_of(const PressureSettings& settings) {
  const std::filesystem::path proc = settings.proc;
  return {.proc = proc, .cgroups = {.root = settings.cgroup, .membership = proc / "self/cgroup"}};
}

}  // namespace

PressureRelief::PressureRelief(WorkerOrders& orders, const PressureSettings& settings)
    : orders_(orders), settings_(settings), figures_(places_of(settings)) {
  allowance_.set_limit(settings.memory);
  if (settings.memory > 0)
    log::debug("memory_pressure_watched", {{"limit", fmt::format("{}%", settings.memory)}, {"by", figures_.sources()}});
}

void PressureRelief::set(const PressureSettings& settings) {
  if (settings.proc != settings_.proc || settings.cgroup != settings_.cgroup)
    figures_ = MemoryFigures(places_of(settings));
  settings_ = settings;
  allowance_.set_limit(settings.memory);
}

void PressureRelief::look(SteadyTime now) {
  last_ = settings_.memory > 0 ? figures_.read() : PressureReading{};
  const int workers = orders_.workers();
  const auto before = std::exchange(allowed_, allowance_.allowed(last_, workers, now));
  held_back_ = orders_.hold_back_all_but(allowed_);
  if (allowed_ != before) tell(before, workers);
}

void PressureRelief::tell(const std::optional<int>& before, int workers) const {
  const std::string stalled = fmt::format("{:.1f}%", last_.stalled.value_or(0));
  if (!allowed_)
    log::info("memory_pressure_over", {{"fetching", workers}, {"stalled", stalled}});
  else if (before && *allowed_ > *before)
    log::info("memory_pressure_eases",
              {{"fetching", workers - held_back_}, {"workers", workers}, {"stalled", stalled}});
  else
    log::warn("memory_pressure", {{"fetching", workers - held_back_},
                                  {"workers", workers},
                                  {"stalled", stalled},
                                  {"reason", last_.killed ? "the kernel killed for lack of memory, or was about to"
                                                          : "all processes stall for lack of memory"}});
}

std::string PressureRelief::status() const {
  if (held_back_ == 0) return "";
  return fmt::format("memory is scarce ({:.1f}% of the time is lost): {} held back", last_.stalled.value_or(0),
                     held_back_ == 1 ? "1 worker is" : fmt::format("{} workers are", held_back_));
}

std::string PressureRelief::json() const {
  return JsonWriter()
      .decimal("memory", last_.stalled)
      .number("limit", settings_.memory)
      .number("held_back", held_back_)
      .object();
}

}  // namespace brood
