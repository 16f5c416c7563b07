#pragma once

#include <cstdint>
#include <string>

namespace brood {

// The progress that a running job reports by job.progress().
struct JobProgress {
  std::int64_t done = 0;   // the amount done
  std::int64_t total = 0;  // the whole amount; 0: unknown
  std::string note = {};   // such as "page 3"
};

}  // namespace brood
