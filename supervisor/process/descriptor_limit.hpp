#pragma once

#include <sys/resource.h>

#include <cstddef>

namespace brood {

// Raises the limit of open descriptors, as far as possible, to what this process needs: with many workers or shards
// that is more than the usual 1,024.  Jobs get the original limit back: a program that calls select() relies on it.
class DescriptorLimit {
 public:
  // Throws std::system_error if the limit cannot be read.
  explicit DescriptorLimit(std::size_t needed);

  std::size_t now() const { return now_; }
  // Called in a child.
  void give_back() const;

 private:
  rlimit found_{};
  std::size_t now_;
};

// A worker has two descriptors here, and during a takeover there are copies of both.  A shard has its own connections,
// and now and then a pipe from a child.
constexpr std::size_t descriptors_needed(std::size_t workers, std::size_t shards) {
  return 96 + 4 * workers + 8 * shards;
}

}  // namespace brood
