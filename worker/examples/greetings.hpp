#pragma once

#include <string>
#include <vector>

#include <brood/job.hpp>

// The smallest jobs: fields are arguments, perform() is the work.

struct Greet {
  std::string name = "world";

  static constexpr brood::JobOptions options{.required = 0};
  void perform(brood::Context& job);
};

struct AddNumbers {
  std::vector<double> numbers;

  void perform(brood::Context& job);
};
