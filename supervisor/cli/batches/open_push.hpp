#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "shared/store/batches/batch.hpp"

namespace brood {

// The process of an unreturned push: "<host> <pid> <epoch seconds>".
struct Pusher {
  std::string host;
  pid_t pid = 0;
  std::int64_t since = 0;
};
std::optional<Pusher> parse_pusher(std::string_view text);
// "since 2026-12-01T08:00:00Z by host:4711"; the text itself if it has another form.
std::string pusher_text(std::string_view text);

enum class PusherState {
  lives,
  gone,
  elsewhere,  // on another host, where only a person can check
};
// Looks at the processes of this host.  A process that began after the push is a different one.
PusherState look_for_pusher(const Pusher& pusher);

// Whether the batch is held open by a push whose process is certainly gone.  Ignores pushes by jobs of the batch
// itself: they are listed as pushers but do not hold it open.  Pure.
bool is_held_by_the_dead(const BatchRecord& batch, const std::function<PusherState(const Pusher&)>& look);

}  // namespace brood
