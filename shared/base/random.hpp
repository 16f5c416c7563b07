#pragma once

#include <chrono>
#include <random>

namespace brood {

// In a copy of a process: otherwise rand(), random() and drand48() would give the same numbers to all copies.
void seed_anew();

// A pause that is up to a quarter shorter or longer, so that processes that begin together do not do everything
// together.
inline std::chrono::nanoseconds jittered(std::chrono::nanoseconds pause) {
  std::random_device
      random;  // of the system: a generator would be copied by a fork, and all copies would draw the same
  const double factor = std::uniform_real_distribution<>(0.75, 1.25)(random);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double, std::nano>(pause) * factor);
}

// The probability that exactly `found` of `drawn` things are marked, when they are drawn from `all`, of which `marked`
// are.  0 where that cannot be.  The arguments are whole numbers, but doubles, since counts may be large.
double hypergeometric(double found, double drawn, double marked, double all);

}  // namespace brood
