#include <brood/client.hpp>
#include <brood/job.hpp>
#include <chrono>
#include <iostream>
#include <string>

struct CountWords {
  std::string path;
  void perform(const brood::Context& job) const;
};

void wait(brood::Client& client, [[maybe_unused]] const CountWords& job) {
  // SNIPPET
}
