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

// A cgroup for each worker, so that the kernel ends a worker, with everything its job has started, at memory_limit.
// Needs a cgroup with the memory controller that is delegated to this supervisor alone.  The supervisor moves into its
// own leaf, since a cgroup that controls its children may contain no process itself.  Each call makes a few small
// writes into cgroupfs, which do not block.
class MemoryCgroup {
 public:
  // Returns nullopt if nothing needs cgroups (no capsule has a memory_limit, and no class a sandbox with its own
  // cgroup), or if nothing is delegated.  Logs whether memory is limited by cgroups or in another way.  Call it in the
  // supervisor.  Children that it already has move with it.
  static std::optional<MemoryCgroup> create(const Config& config, const CgroupPlaces& places = {});

  // Call it before workers of another configuration are forked: their jobs may need more controllers.
  void follow(const Config& config) const;

  // Call it in the child that becomes the worker of `slot`, before any job's code: moves it into the slot's leaf, with
  // this limit (0: none).  Throws std::system_error on failure; the worker then has no limit.
  void enter(int slot, std::uint64_t limit_bytes) const;

  // The slot's events since the last take_events() or clear().
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
  std::map<int, MemoryEvents> seen_;  // by slot; missing while all its counters are 0
};

}  // namespace brood
