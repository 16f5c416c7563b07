#pragma once

#include <cstdint>
#include <string>

namespace brood {

// How far a running job says that it is, by job.progress().
struct JobProgress {
  std::int64_t done = 0;   // so much
  std::int64_t total = 0;  // of so much; 0: unknown
  std::string note = {};   // such as "page 3"
};

}  // namespace brood
