#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/cli/import/import_sidekiq.hpp"

namespace brood {

// A limit of the gem sidekiq-throttled that becomes a cap of job classes.
struct ThrottleCap {
  std::string name;  // of the class, or of the strategy that classes share
  std::vector<std::string> classes;
  std::int64_t most = 0;
  std::string place;  // "app/jobs/mail.rb:7"
};

struct Throttles {
  std::vector<ThrottleCap> caps = {};
  std::vector<ImportNote> notes = {};  // what of them has no counterpart
};

// Finds `sidekiq_throttle`, `sidekiq_throttle_as` and `Sidekiq::Throttled::Registry.add` in Ruby code, and reads those
// limits that are written as numbers.  Does not run Ruby: the class is the one by whose indentation a line is within
// it.  Pure.
Throttles find_throttles(const std::vector<SidekiqFile>& files);

}  // namespace brood
