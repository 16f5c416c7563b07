#pragma once

#include <sys/resource.h>

#include <cstddef>

namespace brood {

// How many descriptors a process may have open at once.  It is raised, as far as may be, to what this process needs,
// which with many workers or shards is more than the usual 1,024; jobs get back the limit that was found: a program
// that calls select() counts on it.
class DescriptorLimit {
 public:
  // Throws std::system_error when the limit cannot be read.
  explicit DescriptorLimit(std::size_t needed);

  std::size_t now() const { return now_; }
  // In a child.
  void give_back() const;

 private:
  rlimit found_{};
  std::size_t now_;
};

// A worker has two here, and until a program that takes over stands there are copies of both; a shard has connections
// of its own, and now and then a child that it hears.
constexpr std::size_t descriptors_needed(std::size_t workers, std::size_t shards) {
  return 96 + 4 * workers + 8 * shards;
}

}  // namespace brood
