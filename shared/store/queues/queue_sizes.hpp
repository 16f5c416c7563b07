#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

inline constexpr std::size_t max_queues_sized = 200;  // by one script, so that it does not hold up Redis

// `queues` in their order, as many at a time as one script may be asked for.
std::vector<std::vector<std::string>> slices_to_size(const std::vector<std::string>& queues);

// Which of up to max_queues_sized queues hold jobs.
ScriptCall queue_sizes(const std::vector<std::string>& queues);

struct QueueSizes {
  struct Filled {
    std::string queue;
    std::int64_t jobs;
  };
  std::vector<Filled> filled;         // in the order asked
  std::vector<std::string> no_lists;  // keys of another type
};

// Throws UnexpectedReply.
QueueSizes read_queue_sizes(const std::vector<std::string>& queues, ReplyView reply);

}  // namespace brood
