#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace brood {

// The files, network and so on that the jobs of a class may reach: [classes.NAME.sandbox].  Settings that are absent
// limit nothing.
struct SandboxSettings {
  bool network = true;  // false: no sockets, not even local ones
  // The absolute paths that they may write and read, with all below them.  nullopt: all that the user may.
  std::optional<std::vector<std::string>> write = {}, read = {};
  std::uint64_t memory_bytes = 0;  // for each process; all together may have 64 MB more; 0: no limit
  double cpu = 0;                  // processors, of a job and all that it starts; 0: no limit
  int processes = 0;               // and threads, of a job and all that it starts; 0: no limit
  // true: no worker starts if the kernel cannot enforce all of this.  false: an older Landlock, or no cgroup, suffices.
  bool strict = false;
};

}  // namespace brood
