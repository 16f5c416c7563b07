#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace brood::walk {

// The source of all random choices of a walk, so that a seed repeats them.  Does not use the standard library's
// distributions: they may differ between compilers.
class WalkDice {
 public:
  explicit WalkDice(std::uint64_t seed) : generator_(seed) {}

  int roll(int lowest, int highest) {
    return lowest + static_cast<int>(generator_() % static_cast<std::uint64_t>(highest - lowest + 1));
  }
  bool one_in(int times) { return roll(1, times) == 1; }
  template <typename Value>
  const Value& pick(const std::vector<Value>& values) {
    return values[static_cast<std::size_t>(roll(0, static_cast<int>(values.size()) - 1))];
  }
  // The index of a random choice among these weights.
  int weighted(const std::vector<int>& weights) {
    int sum = 0;
    for (const int weight : weights) sum += weight;
    int left = roll(0, sum - 1);
    int index = 0;
    while (left >= weights[static_cast<std::size_t>(index)]) left -= weights[static_cast<std::size_t>(index++)];
    return index;
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace brood::walk
