#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/config/cap_settings.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

using NameSet = std::set<std::string, std::less<>>;

// Whether a process that lists these names and patterns fetches from this queue.
template <typename Names>
bool fetches_from(const Names& listed, std::string_view queue) {
  return std::any_of(listed.begin(), listed.end(), [&](std::string_view entry) {
    return entry == queue || (is_pattern(entry) && matches(entry, queue));
  });
}

// The queues according to Redis: their names, if they were asked for, and which are paused; and the paused job classes.
struct KnownQueues {
  std::vector<std::string> names;  // sorted
  NameSet paused;
  NameSet paused_classes = {};
  bool operator==(const KnownQueues&) const = default;
};

// The names of all queues, sorted, with "images~*" for all tenants of images.  Unsafe names are left out, and added to
// `unsafe` unless that is null.  nullopt: Redis refuses, or the key is no set.
Command ask_queue_names();
std::optional<std::vector<std::string>> read_queue_names(ReplyView reply, std::vector<std::string>* unsafe = nullptr);

// How many queues there are, with the unsafe ones.  Reading throws UnexpectedReply.
Command ask_queue_count();
std::int64_t read_queue_count(ReplyView reply);

// The paused queues, or the paused classes.  nullopt: Redis refuses, or the key is no set.
Command ask_paused_queues();
Command ask_paused_classes();
std::optional<NameSet> read_paused(ReplyView reply);

// Whether such a refusal is permanent, because the key is no set: then there are no names or pauses.  After any other
// refusal, due to the state of Redis or the rights of our user, what was known before still counts.
bool is_never_told(ReplyView reply);

// The known queues that are fetched by this pattern of the list (entry_for()), sorted, without those that are paused,
// and with "images~*" for its tenants.  A queue of jobs that were set aside is treated as the queue that it stands
// beside.
std::vector<std::string> queues_of_pattern(const std::string& pattern, const std::vector<std::string>& listed,
                                           const KnownQueues& known, const std::vector<CapSettings>& caps);

// `listed` with its patterns replaced by their queues, and without those that are paused.
std::vector<std::string> expand_queues(const std::vector<std::string>& listed, const KnownQueues& known,
                                       const std::vector<CapSettings>& caps = {});

// Puts in front of each queue those beside it, in which its jobs wait for a place of their class's cap.  They are
// paused with it.
std::vector<std::string> with_asides(std::vector<std::string> queues, const std::vector<CapSettings>& caps,
                                     const KnownQueues& known);

// One name in the set `paused`: no worker fetches from that queue.
Command ask_is_paused(std::string_view queue);
bool read_is_paused(ReplyView reply);
Command pause_queue(std::string_view queue);
Command unpause_queue(std::string_view queue);

}  // namespace brood
