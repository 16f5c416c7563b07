#include <brood/testing.hpp>
#include <cstdio>

#include "count_words.hpp"

// The library in real workers, with a Redis of its own: workers_test LIBRARY
int main(int argc, char** argv) {
  using brood::testing::Outcome;
  if (argc != 2) return 64;
  try {
    brood::testing::Supervised brood({.libraries = {argv[1]}});
    const Outcome counted = brood.wait_for(brood.client().enqueue(CountWords{.path = __FILE__}));
    std::puts(counted.text().c_str());
    if (counted.kind != Outcome::Kind::succeeded) return 1;

    const Outcome failed = brood.wait_for(brood.client().enqueue(CountWords{.path = "/nonexistent"}));
    std::puts(failed.text().c_str());
    if (failed.kind != Outcome::Kind::retried || failed.message != "cannot read /nonexistent") return 1;
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
