#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace brood {

// A cgroup that holds whoever enters it to so much memory: the kernel kills one of them when it is used up.
class MemoryGroup {
 public:
  // nullopt where this process may not make one: without root, or under cgroup v2 with nobody to delegate it.
  static std::optional<MemoryGroup> make(std::uint64_t bytes);
  MemoryGroup(MemoryGroup&& other) noexcept;
  ~MemoryGroup();  // removes it, once it is empty

  // Enters it and executes the command behind it: what BroodOptions::prefix takes.
  std::vector<std::string> prefix() const;
  std::uint64_t kills() const;  // so far

 private:
  explicit MemoryGroup(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

}  // namespace brood
