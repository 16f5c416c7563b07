#pragma once

#include <chrono>
#include <cstdint>

#include "shared/base/clock.hpp"

namespace brood {

// Decides when an exchange has taken too long.  A slow line is not a dead one: while bytes move, the deadline moves
// with them, until none has moved for `silence`.  But a line that carries fewer than `slowest` bytes a second is given
// up.  Pure.
class Pace {
 public:
  static constexpr std::uint64_t slowest = 16 * 1024;

  // `deadline` applies if no byte moves; `moved` is the count of moved bytes now.
  Pace(SteadyTime deadline, std::chrono::nanoseconds silence, std::uint64_t moved = 0)
      : first_(deadline), deadline_(deadline), silence_(silence), begin_(moved), moved_(moved) {}

  // Notes the count of moved bytes at `now`.
  void note(std::uint64_t moved, SteadyTime now);

  SteadyTime deadline() const { return deadline_; }
  bool is_over(SteadyTime now) const { return now >= deadline_; }

 private:
  SteadyTime first_, deadline_;
  std::chrono::nanoseconds silence_;
  std::uint64_t begin_, moved_;
};

// How long the supervisor waits for an answer of Redis before it takes the connection for dead.  The shorter time is
// for questions whose result another process waits for.
constexpr std::chrono::seconds longest_answer_time{10};
constexpr std::chrono::seconds short_answer_time{5};

}  // namespace brood
