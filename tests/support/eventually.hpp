#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace brood {

// Asks until `holds` returns true.  Returns false if it did not within `time`.  Asks every 3 ms at first, and every 20
// ms after half a second: a question may start a process or read a long log.
template <typename Predicate>
bool within(std::chrono::milliseconds time, Predicate holds) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  for (;;) {
    if (holds()) return true;
    const auto waited = steady_clock::now() - begin;
    if (waited >= time) return false;
    std::this_thread::sleep_for(std::clamp<steady_clock::duration>(waited / 25, milliseconds(3), milliseconds(20)));
  }
}

// The same for a condition that must come true.  `time` is meant for an idle machine: a busy one gets several times as
// much, which costs no time if all is well.
template <typename Predicate>
bool eventually(Predicate holds, std::chrono::milliseconds time = std::chrono::seconds(20)) {
  constexpr int slower = 4;
  return within(slower * time, holds);
}

}  // namespace brood
