#pragma once

#include <cstddef>
#include <string_view>

namespace brood {

// No setting makes Redis refuse a command of so many bytes for its size.
inline constexpr std::size_t bytes_always_taken = 1'000'000;

// Returns true for the error with which Redis refuses a text that is longer than its proto-max-bulk-len, before it has
// looked at the command.  It closes the connection, and would refuse the same bytes for ever.
bool refused_for_its_size(std::string_view error);

// Beyond its client-query-buffer-limit Redis closes the connection without a word.  A Redis that is killed does so too,
// but not twice in a row, each time in answer to the same large command.
class SizeRefusals {
 public:
  // Redis closed the connection in answer to a command of `bytes`: true for the second time in a row.
  bool closed_upon(std::size_t bytes);
  void answered(std::size_t bytes);
  bool suspects() const { return suspect_ > 0; }

 private:
  std::size_t suspect_ = 0;
};

}  // namespace brood
