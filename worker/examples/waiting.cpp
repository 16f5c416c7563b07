#include "waiting.hpp"

#include <chrono>
#include <thread>

using namespace std::chrono_literals;

void Sleep::perform() { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

void PoliteLoop::perform(brood::Context& job) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (std::chrono::steady_clock::now() < end) {
    if (job.stopping()) throw brood::Interrupted{};
    std::this_thread::sleep_for(5ms);
  }
}

void Stubborn::perform() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
}
