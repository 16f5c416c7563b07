#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/walk/dice.hpp"
#include "tests/walk/job_book.hpp"
#include "tests/walk/site.hpp"
#include "tests/walk/stall_meter.hpp"

namespace brood::walk {

struct WalkOptions {
  std::uint64_t seed = 1;
  int actions = 60;
  std::string planted{};  // the name of a planted bug; empty: none
  bool verbose = false;
};

// Shared by all parts of a walk: the dice, the site, and the records.
struct Scene {
  explicit Scene(const WalkOptions& options);

  void note(const std::string& what);  // writes down an action
  void find(const std::string& jid, const std::string& what) { findings.push_back({jid, what}); }

  Fleet& some_fleet();
  Shard& some_shard(int& index);
  // Runs `brood <words>` for one shard, as from another machine; returns what it printed.
  std::string command(int shard, std::vector<std::string> words);
  // The same as the user of the fleet's machine, whose supervisor answers.
  CommandResult command_at(Fleet& fleet, std::vector<std::string> words);

  const WalkOptions options;
  WalkDice dice;
  const std::int64_t began = now_ns();
  const StallMeter stalls;
  const SiteShape shape;
  Site site;
  JobBook book;
  Excuses excuses;
  std::vector<Finding> findings;
  std::vector<std::string> actions;
};

}  // namespace brood::walk
