#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "shared/base/clock.hpp"

namespace brood {

// How long a fenced worker pauses.  A worker is fenced now and then, when a supervisor has taken it for dead.  If it is
// fenced again and again, its Redis loses writes, and it would ask thousands of times a second: so it pauses, longer
// each time.  Pure.
class FencedBackoff {
 public:
  struct Fenced {
    std::chrono::milliseconds pause{0};  // before the next try
    bool first_of_many = false;          // log now what is wrong
    bool one_of_many = false;            // that was logged before
  };
  Fenced fenced(SteadyTime now);

  struct Over {
    std::size_t fences = 0;
    std::chrono::nanoseconds took{};
  };
  // Call it when something was settled or fetched.  Returns once that a row of fences is over; else nullopt.
  std::optional<Over> settled(SteadyTime now);

 private:
  std::size_t fences_ = 0;  // without ten seconds of peace between them
  SteadyTime first_{}, last_{};
};

}  // namespace brood
