#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shared/job/payload.hpp"
#include "worker/job/perform.hpp"

namespace brood {

// The failure of a job that found no memory any more.
Failure out_of_memory(std::string message);

// The kernel has ended the job, or its program, when the host had no memory left, and no limit of its own was reached.
// As the supervisor judges the end of a worker: it failed if it had more than `share_bytes`, its share of the host's
// memory; 0: not known.  nullopt: others had used it up, which the log says, and the job goes back uncharged.
std::optional<Failure> failure_of_victim(const Payload& job, std::uint64_t peak_kb, std::uint64_t share_bytes);

}  // namespace brood
