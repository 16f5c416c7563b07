#include "supervisor/recovery/dead_files.hpp"

#include <utility>

#include "supervisor/recovery/workers_left.hpp"

namespace brood {

void DeadFiles::note_look(int shard, std::set<std::string> names) {
  for (auto& [name, file] : waiting_) {
    if (names.contains(name))
      file.done.erase(shard);
    else
      file.done.insert(shard);
  }
  std::erase_if(waiting_, [&](const auto& file) { return remove_if_done(file.second); });
  named_.at(static_cast<std::size_t>(shard)) = std::move(names);
}

void DeadFiles::remove(int shard, const std::string& name, const std::string& scoreboard) {
  if (auto& names = named_.at(static_cast<std::size_t>(shard))) names->erase(name);
  Waiting& file = waiting_[name];
  file.scoreboard = scoreboard;
  file.done.insert(shard);
  if (remove_if_done(file)) waiting_.erase(name);
}

std::optional<std::set<std::string>> DeadFiles::named() const {
  std::set<std::string> all;
  for (const auto& names : named_) {
    if (!names) return std::nullopt;
    all.insert(names->begin(), names->end());
  }
  return all;
}

bool DeadFiles::remove_if_done(const Waiting& file) const {
  for (int shard = 0; shard < static_cast<int>(named_.size()); ++shard) {
    if (!file.done.contains(shard)) return false;
  }
  return remove_runtime_files(file.scoreboard);
}

}  // namespace brood
