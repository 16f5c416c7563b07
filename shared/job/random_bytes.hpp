#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace brood {

// The kernel's random numbers, fetched some hundred bytes at a time.  Let an object live no longer than a call: a
// forked child must not have its parent's numbers.
class RandomBytes {
 public:
  std::string jid();  // 24 hex digits
  double fraction();  // 0 <= x < 1

 private:
  unsigned char next();

  static constexpr std::size_t first_helping = 12;  // one jid, which is all that most calls need
  std::array<unsigned char, 240> bytes_;
  std::size_t at_ = 0, size_ = 0;
};

}  // namespace brood
