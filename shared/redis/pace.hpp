#pragma once

#include <chrono>
#include <cstdint>

#include "shared/base/clock.hpp"

namespace brood {

// When an exchange has taken too long.  A slow line is not a dead one: while bytes move, its deadline moves with them,
// until none has moved for `silence`; but not for ever: a line that carries less than `slowest` bytes a second is
// given up.  Pure.
class Pace {
 public:
  static constexpr std::uint64_t slowest = 16 * 1024;

  // `deadline` should no byte move; `moved` is what the count of moved bytes is now.
  Pace(SteadyTime deadline, std::chrono::nanoseconds silence, std::uint64_t moved = 0)
      : first_(deadline), deadline_(deadline), silence_(silence), begin_(moved), moved_(moved) {}

  // The count, at `now`.
  void note(std::uint64_t moved, SteadyTime now);

  SteadyTime deadline() const { return deadline_; }
  bool is_over(SteadyTime now) const { return now >= deadline_; }

 private:
  SteadyTime first_, deadline_;
  std::chrono::nanoseconds silence_;
  std::uint64_t begin_, moved_;
};

}  // namespace brood
