#pragma once

#include <chrono>
#include <random>

namespace brood {

// Call it in a forked process: otherwise rand(), random() and drand48() return the same numbers in all of them.
void seed_anew();

// A pause that is up to a quarter shorter or longer, so that processes that begin together do not stay in step.
inline std::chrono::nanoseconds jittered(std::chrono::nanoseconds pause) {
  std::random_device
      random;  // of the system: a generator would be copied by a fork, and all copies would draw the same
  const double factor = std::uniform_real_distribution<>(0.75, 1.25)(random);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double, std::nano>(pause) * factor);
}

// The probability that exactly `found` of `drawn` things are marked, if they are drawn from `all` things, of which
// `marked` are.  0 if that is impossible.  The arguments are whole numbers, as doubles since counts may be large.
double hypergeometric(double found, double drawn, double marked, double all);

}  // namespace brood
