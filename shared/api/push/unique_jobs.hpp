#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shared/api/push/client_connection.hpp"
#include "shared/api/push/push_writer.hpp"
#include "shared/store/queues/push_unique.hpp"

namespace brood {

// How many of the first of these jobs, which all have locks, one script pushes to one place; 0 for none.
std::size_t unique_slice(std::span<const ClientPush> jobs);

// As the script wants them; the payloads are copied.
std::vector<UniqueJob> unique_jobs(std::span<const ClientPush> jobs);

// Whether it takes the place of the job that holds its lock.
bool replaces(const ClientPush& job);

// Tells each who holds its lock, and puts those that are to replace the holder in its place if that waits.  No holders
// at all: the batch was pushed before, by a call whose reply was lost.  What is pushed takes the number of the batch,
// if that has one: then a job that replaces is alone in it. Throws RedisError, also when the holder could not be looked
// for: those that were pushed stay so.
void settle_conflicts(ClientConnection& redis, std::span<ClientPush> jobs, const std::vector<std::string>& holders,
                      const std::optional<BatchNumber>& batch = std::nullopt);

}  // namespace brood
