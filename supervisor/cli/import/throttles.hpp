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
  std::vector<ImportNote> notes = {};  // which of their settings have no counterpart
};

// Finds `sidekiq_throttle`, `sidekiq_throttle_as` and `Sidekiq::Throttled::Registry.add` in Ruby code, and reads the
// limits that are written as numbers.  Does not run Ruby: finds the class that encloses a line by indentation.  Pure.
Throttles find_throttles(const std::vector<SidekiqFile>& files);

}  // namespace brood
