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

// The arguments of the script.  Copies the payloads.
std::vector<UniqueJob> unique_jobs(std::span<const ClientPush> jobs);

// Whether it takes the place of the job that holds its lock.
bool replaces(const ClientPush& job);

// Stores in each job the jid of the holder of its lock, and lets jobs that replace take the place of a holder that
// waits. No holders at all: the batch was pushed before, by a call whose reply was lost.  Pushed jobs get the number
// of the batch, if it has one; a job that replaces is then alone in the batch.  Throws RedisError, also if the holder
// could not be searched; jobs pushed before stay pushed.
void settle_conflicts(ClientConnection& redis, std::span<ClientPush> jobs, const std::vector<std::string>& holders,
                      const std::optional<BatchNumber>& batch = std::nullopt);

}  // namespace brood
