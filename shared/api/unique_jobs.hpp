#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "shared/api/push_writer.hpp"
#include "shared/store/queues/push_unique.hpp"

namespace brood {

// How many of the first of these jobs, which all have locks, one script pushes to one place; 0 for none.
std::size_t unique_slice(std::span<const ClientPush> jobs);

// As the script wants them; the payloads are copied.
std::vector<UniqueJob> unique_jobs(std::span<const ClientPush> jobs);

// Tells each who holds its lock.
void note_holders(std::span<ClientPush> jobs, const std::vector<std::string>& holders);

}  // namespace brood
