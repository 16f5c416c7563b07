#include "supervisor/recovery/dead_files.hpp"

#include <algorithm>
#include <utility>

#include "supervisor/recovery/workers_left.hpp"

namespace brood {

void DeadFiles::note_look(int shard, std::set<std::string> names) {
  named_.at(static_cast<std::size_t>(shard)) = std::move(names);
  std::erase_if(waiting_, [&](const auto& file) {
    if (is_needed(file.first)) return false;
    remove_runtime_files(file.second);
    return true;
  });
}

void DeadFiles::remove(int shard, const std::string& name, const std::string& scoreboard) {
  if (auto& names = named_.at(static_cast<std::size_t>(shard))) names->erase(name);
  const auto others_need_it = [&] {
    for (int other = 0; other < static_cast<int>(named_.size()); ++other) {
      const auto& names = named_[static_cast<std::size_t>(other)];
      if (other != shard && (!names || names->contains(name))) return true;
    }
    return false;
  };
  if (others_need_it()) {
    waiting_[name] = scoreboard;
  } else {
    waiting_.erase(name);
    remove_runtime_files(scoreboard);
  }
}

std::optional<std::set<std::string>> DeadFiles::named() const {
  std::set<std::string> all;
  for (const auto& names : named_) {
    if (!names) return std::nullopt;
    all.insert(names->begin(), names->end());
  }
  return all;
}

bool DeadFiles::is_needed(const std::string& name) const {
  return std::any_of(named_.begin(), named_.end(), [&](const auto& names) { return !names || names->contains(name); });
}

}  // namespace brood
