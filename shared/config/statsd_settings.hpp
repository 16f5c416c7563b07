#pragma once

#include <string>
#include <vector>

namespace brood {

// The StatsD server to which each end of a job is sent ([statsd]).
struct StatsdSettings {
  std::string address;              // as ListenAddress reads it; empty: nothing is sent
  std::string prefix = "sidekiq.";  // before each name
  std::vector<std::string> tags;    // added to every line
  bool has_tags = true;             // false: a plain StatsD server, which knows no tags and no distributions
};

}  // namespace brood
