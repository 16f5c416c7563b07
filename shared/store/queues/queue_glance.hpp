#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// A queue as a list of queues shows it.  Nothing is refused: a key may hold anything.
struct QueueGlance {
  std::optional<std::int64_t> jobs;     // that wait; nullopt: the key is no list, or may not be read
  std::optional<std::string> next_job;  // its payload; nullopt: none waits
  bool paused = false;
};

// Whether each queue is paused, unless that is known otherwise: `paused` is false then.
enum class AskPaused { no, yes };

// One glance for each queue, in order.
std::vector<Command> ask_queue_glances(const std::vector<std::string>& queues, AskPaused ask_paused);
std::vector<QueueGlance> read_queue_glances(std::span<const Reply> replies, AskPaused asked_paused);

}  // namespace brood
