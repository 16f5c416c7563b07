#include <algorithm>
#include <cmath>
#include <utility>

#include <brood/api.hpp>

#include "shared/api/api_state.hpp"
#include "shared/store/in_flight/caps.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/scan.hpp"

namespace brood {
namespace {

LimitUsage usage_of(std::string name, LimitView view) {
  return {.name = std::move(name),
          .kind = std::string(to_string(view.kind)),
          .limit = view.amount,
          .interval = view.interval,
          .held = static_cast<std::int64_t>(std::ceil(view.held - 1e-6)),
          .taken = view.taken,
          .waited = view.waited,
          .wait_time = std::chrono::milliseconds(view.waited_ms),
          .over = view.over,
          .reclaimed = view.reclaimed,
          .holders = std::move(view.holders)};
}

// The limits of one name, or all if `only` is empty.
std::vector<LimitUsage> limits_in(ClientConnection& redis, std::string_view only) {
  std::vector<LimitUsage> all;
  const Reply caps = redis.call(ask_caps());
  for (const auto& [name, places] : read_caps(caps.view())) {
    if (!only.empty() && name != only) continue;
    const Reply shown = redis.run(show_cap(name));
    LimitUsage cap{.name = name, .kind = "cap", .limit = places};
    cap.holders = read_cap_holders(shown.view());
    cap.held = static_cast<std::int64_t>(cap.holders.size());
    all.push_back(std::move(cap));
  }
  std::vector<std::string> names{std::string(only)};
  if (only.empty()) {
    const Reply known = redis.call(ask_limit_names());
    names = read_name_list(known.view());
    std::sort(names.begin(), names.end());
  }
  for (std::string& name : names) {
    const Reply shown = redis.run(show_limit(name));
    if (auto view = read_limit_view(shown.view())) all.push_back(usage_of(std::move(name), std::move(*view)));
  }
  return all;
}

}  // namespace

std::vector<LimitUsage> Api::limits(std::string_view name) {
  std::vector<LimitUsage> all;
  shards_->each([&](detail::ApiState& shard) {
    std::vector<LimitUsage> some = shard.converse([&](ClientConnection& redis) { return limits_in(redis, name); });
    for (LimitUsage& one : some) {
      if (shards_->several()) one.shard = shard.shard();
      all.push_back(std::move(one));
    }
  });
  return all;
}

bool Api::reset_limit(std::string_view name) {
  bool known = false;
  shards_->each([&](detail::ApiState& shard) {
    shard.converse([&](ClientConnection& redis) {
      if (limits_in(redis, name).empty()) return;
      known = true;
      redis.call(forget_cap(std::string(name)));
      redis.run(brood::reset_limit(std::string(name)));
    });
  });
  return known;
}

}  // namespace brood
