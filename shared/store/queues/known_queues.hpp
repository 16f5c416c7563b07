#pragma once

#include <set>
#include <string>
#include <vector>

#include "shared/redis/reply.hpp"

namespace brood {

// What Redis says of the queues: their names, if they were asked for, and which are paused.
struct KnownQueues {
  std::vector<std::string> names;  // sorted
  std::set<std::string, std::less<>> paused;
  bool operator==(const KnownQueues&) const = default;
};

// The members of `queues`, sorted; names that are not safe are left out, and added to `unsafe`.
std::vector<std::string> read_queue_names(ReplyView members, std::vector<std::string>* unsafe = nullptr);
// The members of `paused`.
std::set<std::string, std::less<>> read_paused_queues(ReplyView members);

// `listed` with the known queues that it does not name in the place of its "*", and without those that are paused.
std::vector<std::string> expand_queues(const std::vector<std::string>& listed, const KnownQueues& known);

}  // namespace brood
