#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/store/script.hpp"

namespace brood {

inline constexpr std::size_t max_jobs_pushed_once = 500;

// Pushes a batch of at most so many jobs of one `client`: payloads for a queue or, with no queue, scores and payloads
// in turn for the schedule.  Batches are numbered from 1.  A batch that is sent twice is pushed once, for a day after
// the client's last batch.
ScriptCall push_once(std::string_view client, std::uint64_t number, std::string_view queue,
                     std::vector<std::string> payloads);

}  // namespace brood
