#pragma once

#include <chrono>
#include <thread>

namespace brood {

// Asks every few milliseconds until `holds` is true; false when it never was within `timeout`.
template <typename Predicate>
bool eventually(Predicate holds, std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (holds()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
}

}  // namespace brood
