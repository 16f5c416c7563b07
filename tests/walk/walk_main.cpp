// A random walk over the whole program: see CONTRIBUTING.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/planted_bug.hpp"
#include "tests/walk/walk.hpp"

using brood::walk::WalkOptions;
using Clock = std::chrono::steady_clock;

namespace {

int usage() {
  std::cerr << "usage: brood_walk [--seed n] [--seeds n] [--minutes n] [--actions n] [--logs directory] [--verbose]\n"
               "                  [--planted name | all]\n"
               "Walks by seed after seed, from that one on: so many of them, or for so long.\n"
               "Without --seed it begins with one of the clock.  The planted bugs are\n";
  for (const std::string_view name : brood::planted_bugs) std::cerr << "  " << name << "\n";
  return 64;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool is_well(const WalkOptions& options, const std::string& logs, bool reports) {
  const auto start = Clock::now();
  brood::walk::Walk walk(options);
  const bool well = walk.run();
  fmt::print("seed {}{}: {} jobs, {} lines, {:.1f} s{}\n", options.seed,
             options.planted.empty() ? "" : " with " + options.planted, walk.jobs(), walk.lines(), seconds_since(start),
             well ? "" : ", FAILED");
  if (!well && !logs.empty()) walk.keep_logs(logs);
  if (!well && reports) fmt::print("{}\nRepeat it with --seed {}\n", walk.report(), options.seed);
  if (!well && !reports) fmt::print("{}", walk.findings());
  std::fflush(stdout);
  return well;
}

// Walks until it finds a planted bug.  Runs in a separate process, since its client has the bug too.
bool finds(std::string_view bug, WalkOptions options, std::uint64_t seeds) {
  options.planted = bug;
  const pid_t child = fork();
  if (child == 0) {
    setenv("BROOD_PLANTED_BUG", options.planted.c_str(), 1);
    bool found = false;
    for (std::uint64_t walked = 0; !found && walked < seeds; ++walked, ++options.seed)
      found = !is_well(options, "", false);
    std::_Exit(found ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  WalkOptions options;
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
    const bool all = options.planted == "all";
    if (!all && std::ranges::find(brood::planted_bugs, options.planted) == brood::planted_bugs.end()) return usage();
    int missed = 0;
    for (const std::string_view bug : brood::planted_bugs) {
      if (!all && options.planted != bug) continue;
      const bool found = finds(bug, options, std::max<std::uint64_t>(seeds, 20));
      fmt::print("{}: {}\n", bug, found ? "found" : "NOT FOUND");
      std::fflush(stdout);
      missed += !found;
    }
    return missed == 0 ? 0 : 1;
  }
  const auto start = Clock::now();
  for (std::uint64_t walked = 0; minutes > 0 ? seconds_since(start) < 60 * minutes : walked < seeds;
       ++walked, ++options.seed) {
    if (!is_well(options, logs, true)) return 1;
  }
  return 0;
}
