#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

inline constexpr std::size_t max_queues_sized = 200;  // by one script, which holds up Redis meanwhile

// Splits `queues`, in order, into slices for one script each.
std::vector<std::vector<std::string>> slices_to_size(const std::vector<std::string>& queues);

// Finds the queues, of up to max_queues_sized, that hold jobs.  For "images~*" it counts the tenants that may have
// some.
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

// A queue as lists of queues show it.  Its key may hold anything.
struct QueueGlance {
  std::optional<std::int64_t> jobs;     // waiting; nullopt: the key is no list, or may not be read
  std::optional<std::string> next_job;  // its payload; nullopt: none waits
  bool paused = false;
};

// Whether to ask also if each queue is paused.  If not, QueueGlance::paused is false.
enum class AskPaused { no, yes };

// One glance for each queue, in order.
std::vector<Command> ask_queue_glances(const std::vector<std::string>& queues, AskPaused ask_paused);
std::vector<QueueGlance> read_queue_glances(std::span<const Reply> replies, AskPaused asked_paused);

}  // namespace brood
