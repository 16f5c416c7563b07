#include "tests/support/fleet_view.hpp"

#include <filesystem>
#include <utility>

#include "shared/base/identity.hpp"

namespace brood {
namespace {

std::vector<std::pair<SlotSnapshot, std::uint32_t>> workers_and_flags(const BroodProcess& brood) {
  std::vector<std::pair<SlotSnapshot, std::uint32_t>> found;
  try {
    const Scoreboard board = scoreboard_of(brood);
    for (int i = 0; i < board.slots(); ++i) {
      SlotSnapshot seen = snapshot(board.slot(i));
      if (seen.pid > 0 && process_lives(seen.pid, seen.start_time))
        found.emplace_back(std::move(seen), board.slot(i).flags.load());
    }
  } catch (const std::exception&) {  // it is still being made
  }
  return found;
}

}  // namespace

Scoreboard scoreboard_of(const BroodProcess& brood) {
  const std::string pid = "_" + std::to_string(brood.pid()) + "_";
  for (const auto& entry : std::filesystem::directory_iterator(brood.home() / "run")) {
    if (entry.path().extension() == ".scoreboard" && entry.path().filename().string().find(pid) != std::string::npos)
      return Scoreboard::open(entry.path(), true);
  }
  throw std::runtime_error("process " + std::to_string(brood.pid()) + " has no scoreboard");
}

std::vector<SlotSnapshot> living_workers(const BroodProcess& brood) {
  std::vector<SlotSnapshot> workers;
  for (auto& [seen, flags] : workers_and_flags(brood)) workers.push_back(std::move(seen));
  return workers;
}

int fetching_workers(const BroodProcess& brood) {
  int fetching = 0;
  for (const auto& [seen, flags] : workers_and_flags(brood)) fetching += seen.ready && flags == 0;
  return fetching;
}

}  // namespace brood
