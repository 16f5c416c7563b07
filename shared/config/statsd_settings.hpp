#pragma once

#include <string>
#include <vector>

namespace brood {

// Who is told what becomes of jobs, as it happens ([statsd]).
struct StatsdSettings {
  std::string address;              // as ListenAddress reads it; empty: nobody is told
  std::string prefix = "sidekiq.";  // before each name
  std::vector<std::string> tags;    // on every line, beside its own
  bool has_tags = true;             // false: a plain StatsD server, which knows no tags and no distributions
};

}  // namespace brood
