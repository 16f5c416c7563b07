// A random walk over the whole program: see CONTRIBUTING.md.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "shared/base/planted_bug.hpp"
#include "tests/walk/walk.hpp"

namespace {

int usage() {
  std::cerr << "usage: brood_walk [--seed n] [--seeds n] [--minutes n] [--actions n] [--planted name] [--logs "
               "directory] [--verbose]\n"
               "Walks by seed after seed, from that one on: so many of them, or for so long.\n"
               "Without --seed from one of the clock.\n";
  return 64;
}

}  // namespace

int main(int argc, char** argv) {
  brood::walk::WalkOptions options;
  const auto began = std::chrono::steady_clock::now();
  options.seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) / 1000 % 1'000'000;
  double minutes = 0;
  std::uint64_t seeds = 1;
  std::string logs;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--verbose") {
      options.verbose = true;
      continue;
    }
    if (i + 1 == argc) return usage();
    const std::string value = argv[++i];
    if (word == "--seed")
      options.seed = std::stoull(value);
    else if (word == "--seeds")
      seeds = std::stoull(value);
    else if (word == "--minutes")
      minutes = std::stod(value);
    else if (word == "--actions")
      options.actions = std::stoi(value);
    else if (word == "--logs")
      logs = value;
    else if (word == "--planted")
      options.planted = value;
    else
      return usage();
  }
  if (!options.planted.empty()) {
    if (std::ranges::find(brood::planted_bugs, options.planted) == brood::planted_bugs.end()) {
      std::cerr << "there is no planted bug of that name; there are:\n";
      for (const std::string_view name : brood::planted_bugs) std::cerr << "  " << name << "\n";
      return 64;
    }
    setenv("BROOD_PLANTED_BUG", options.planted.c_str(), 1);  // the client is of this process
  }
  for (std::uint64_t walked = 0;; ++walked, ++options.seed) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
    if (minutes > 0 ? passed.count() > 60 * minutes : walked >= seeds) return 0;
    const auto start = std::chrono::steady_clock::now();
    brood::walk::Walk walk(options);
    const bool is_well = walk.run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::cout << "seed " << options.seed << ": " << walk.jobs() << " jobs, " << walk.lines() << " lines, "
              << took.count() << " s" << (is_well ? "" : ", FAILED") << std::endl;
    if (is_well) continue;
    if (!logs.empty()) walk.keep_logs(logs);
    std::cout << walk.report() << "\nRepeat it with --seed " << options.seed << std::endl;
    return 1;
  }
}
