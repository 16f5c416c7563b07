#pragma once

#include <cstddef>
#include <string_view>

namespace brood {

// Redis never refuses a command of this size, whatever its settings.
inline constexpr std::size_t bytes_always_taken = 1'000'000;

// Whether this is the error with which Redis refuses a text that is longer than its proto-max-bulk-len.  Redis does so
// before it looks at the command, closes the connection, and would always refuse the same bytes.
bool refused_for_its_size(std::string_view error);

// Recognises commands that Redis refuses because they exceed its client-query-buffer-limit: it closes the connection
// without an answer.  A Redis that is killed does so too, but not twice in a row, each time in answer to the same large
// command.
class SizeRefusals {
 public:
  // Redis has closed the connection in answer to a command of `bytes`.  Returns true the second time in a row.
  bool closed_upon(std::size_t bytes);
  void answered(std::size_t bytes);
  bool suspects() const { return suspect_ > 0; }

 private:
  std::size_t suspect_ = 0;
};

}  // namespace brood
