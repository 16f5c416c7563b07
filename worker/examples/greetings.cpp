#include "greetings.hpp"

void Greet::perform(brood::Context& job) { job.log("Hello, " + name + "!"); }

void AddNumbers::perform(brood::Context& job) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  job.log("the sum is " + std::to_string(sum));
}
