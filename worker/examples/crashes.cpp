#include "crashes.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

void Segfault::perform() {
  // Volatile, so that the compiler neither sees nor removes it.
  int* volatile nowhere = reinterpret_cast<int*>(0x10);
  *nowhere = 1;
}

void Abort::perform() { std::abort(); }

namespace {

[[gnu::noinline]] int dig(int depth) {
  volatile char ballast[4096];
  ballast[0] = static_cast<char>(depth);
  return depth < 0 ? ballast[0] : dig(depth + 1) + ballast[0];
}

}  // namespace

void DeepRecursion::perform() { dig(0); }

void Exit::perform() { std::exit(code); }

void Gobble::perform() {
  std::vector<std::unique_ptr<char[]>> taken;
  for (std::int64_t i = 0; i < megabytes; ++i) {
    taken.push_back(std::make_unique<char[]>(1 << 20));
    std::memset(taken.back().get(), 1, 1 << 20);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}
