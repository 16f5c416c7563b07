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

// What Redis says of the queues: their names, if they were asked for, and which are paused; and which job classes are.
struct KnownQueues {
  std::vector<std::string> names;  // sorted
  NameSet paused;
  NameSet paused_classes = {};
  bool operator==(const KnownQueues&) const = default;
};

// The names of all queues, sorted, with "images~*" for all tenants of images; those that are not safe are left out, and
// added to `unsafe`.  nullopt: Redis refuses to tell, or the key is no set.
Command ask_queue_names();
std::optional<std::vector<std::string>> read_queue_names(ReplyView reply, std::vector<std::string>* unsafe = nullptr);

// How many they are, the unsafe ones too.  Reading throws UnexpectedReply.
Command ask_queue_count();
std::int64_t read_queue_count(ReplyView reply);

// Those that are paused.  nullopt: as above.
Command ask_paused_queues();
Command ask_paused_classes();
std::optional<NameSet> read_paused(ReplyView reply);

// Whether this refusal to tell names or pauses is one that stays, as of a key that is no set: then there are none.
// Whatever may pass, Redis' state or our user's rights, leaves what was known.
bool is_never_told(ReplyView reply);

// The known queues that are fetched by this pattern of the list (entry_for()), sorted, without those that are paused,
// and with "images~*" for its tenants.
// A queue of jobs that were set aside goes by the one that it stands beside.
std::vector<std::string> queues_of_pattern(const std::string& pattern, const std::vector<std::string>& listed,
                                           const KnownQueues& known, const std::vector<CapSettings>& caps);

// `listed` with its patterns replaced by their queues, and without those that are paused.
std::vector<std::string> expand_queues(const std::vector<std::string>& listed, const KnownQueues& known,
                                       const std::vector<CapSettings>& caps = {});

// In front of each queue those beside it in which its jobs wait for a place of their class's cap.  They are paused with
// it.
std::vector<std::string> with_asides(std::vector<std::string> queues, const std::vector<CapSettings>& caps,
                                     const KnownQueues& known);

// One name in the set `paused`: nobody fetches from that queue.
Command ask_is_paused(std::string_view queue);
bool read_is_paused(ReplyView reply);
Command pause_queue(std::string_view queue);
Command unpause_queue(std::string_view queue);

}  // namespace brood
