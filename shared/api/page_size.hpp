#pragma once

#include <algorithm>
#include <cstddef>

namespace brood {

// How many entries to ask for at once: so many that a page is about a megabyte, and at most `most`.
class PageSize {
 public:
  explicit PageSize(std::size_t most) : most_(most), next_(std::min<std::size_t>(most, 50)) {}

  std::size_t next() const { return next_; }

  void saw(std::size_t entries, std::size_t bytes) {
    constexpr std::size_t page_bytes = 1 << 20;
    if (entries > 0) next_ = std::clamp<std::size_t>(page_bytes / (bytes / entries + 1), 1, most_);
  }

 private:
  std::size_t most_, next_;
};

}  // namespace brood
