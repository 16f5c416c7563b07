#pragma once

#include <string>
#include <vector>

namespace brood {

// Where the ends of jobs are sent as they happen ([statsd]).
struct StatsdSettings {
  std::string address;              // as ListenAddress reads it; empty: nothing is sent
  std::string prefix = "sidekiq.";  // before each name
  std::vector<std::string> tags;    // on every line, beside its own
  bool has_tags = true;             // false: a plain StatsD server, which knows no tags and no distributions
};

}  // namespace brood
