#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/host_memory.hpp"
#include "shared/config/config.hpp"
#include "supervisor/workers/end/judge_memory.hpp"

namespace brood {

// A cgroup for each worker, where a cgroup with the memory controller has been delegated to this supervisor alone: the
// kernel then ends a worker, and all that its job has started, at memory_limit.  The supervisor moves into a leaf of
// its own, since a cgroup that controls its children may hold no process itself.  Every call is a few tiny writes into
// cgroupfs, which do not block.
class MemoryCgroup {
 public:
  // Nullopt when nothing needs cgroups (no capsule has a memory_limit, and no class a sandbox with a cgroup of its
  // own), or when nothing is delegated.  Logs whether cgroups or another way limits memory.  Call it in the
  // supervisor; its children, if it has any by then, move with it.
  static std::optional<MemoryCgroup> create(const Config& config, const CgroupPlaces& places = {});

  // Before workers of another configuration are forked: their jobs may need more controllers.
  void follow(const Config& config) const;

  // In the child that is to be the worker of `slot`, before any job's code: moves it into the slot's leaf, with this
  // limit (0: none).  Throws std::system_error when it cannot, and the worker is then without a limit.
  void enter(int slot, std::uint64_t limit_bytes) const;

  // What the slot's leaf has counted since the last take_events() or clear().
  MemoryEvents take_events(int slot);

  // Kills what a dead worker has left in its leaf, and removes the leaf.  A leaf that is not empty yet stays for the
  // slot's next worker.
  void clear(int slot);

 private:
  explicit MemoryCgroup(std::filesystem::path base);
  std::filesystem::path leaf(int slot) const;
  void move_supervisor() const;
  void move_children(const std::filesystem::path& into) const;
  void share_out(const std::vector<std::string>& controllers) const;
  void note_leaves();

  std::filesystem::path base_;
  std::map<int, MemoryEvents> seen_;  // by slot; absent: nothing counted
};

}  // namespace brood
