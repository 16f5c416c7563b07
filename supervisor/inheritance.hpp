#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "shared/clock.hpp"
#include "supervisor/death_judge.hpp"
#include "supervisor/recovery.hpp"

namespace brood {

// Takes over what dead supervisors left: each of their workers once it too is gone, by the record in the scoreboard
// file that outlived them; then the rest of their in-flight hash, and the file.
class Inheritance {
 public:
  Inheritance(Recovery& recovery, std::string runtime_directory);

  // Called for as long as the dead one is listed in Redis.
  void heed(const DeadSupervisor& dead, SteadyTime now);

 private:
  struct Progress {
    SteadyTime first_seen{};
    std::set<std::uint64_t> handed_over;  // incarnations
    bool estate_handed_over = false;
  };

  Recovery& recovery_;
  std::string runtime_directory_;
  std::map<std::string, Progress> progress_;
};

}  // namespace brood
