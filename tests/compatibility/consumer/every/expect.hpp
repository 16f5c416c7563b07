#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

// A check of these programs: the first one that fails ends the program with a sentence.
#define EXPECT(...) expect_that((__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)
#define EXPECT_THROW(Error, ...) \
  expect_that(throws<Error>([&] { __VA_ARGS__; }), __FILE__, __LINE__, #Error " by " #__VA_ARGS__)
#define EVENTUALLY(...) \
  expect_that(comes_true([&] { return (__VA_ARGS__); }), __FILE__, __LINE__, "eventually " #__VA_ARGS__)

inline void expect_that(bool holds, const char* file, int line, const char* what) {
  if (!holds) throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": it does not hold: " + what);
}

template <typename Error, typename Call>
bool throws(Call call) {
  try {
    call();
  } catch (const Error&) {
    return true;
  }
  return false;
}

inline bool comes_true(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}
