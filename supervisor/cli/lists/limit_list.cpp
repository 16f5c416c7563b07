#include "supervisor/cli/lists/limit_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/json/json_writer.hpp"
#include "shared/store/in_flight/caps.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/scan.hpp"

namespace brood {
namespace {

ListedLimit listed(const std::string& name, LimitView view) {
  ListedLimit limit;
  limit.name = name;
  limit.kind = to_string(view.kind);
  limit.amount = view.amount;
  limit.held = static_cast<std::int64_t>(std::ceil(view.held - 1e-6));
  limit.interval = view.interval;
  limit.counts = {view.taken, view.waited, view.waited_ms, view.over, view.reclaimed};
  limit.holders = std::move(view.holders);
  return limit;
}

ListedLimit listed_cap(Connection& redis, const std::string& name, std::int64_t places) {
  ListedLimit cap{.name = name, .kind = "cap", .amount = places};
  const Reply shown = redis.run(show_cap(name));
  cap.holders = read_cap_holders(shown.view());
  cap.held = static_cast<std::int64_t>(cap.holders.size());
  return cap;
}

std::vector<ListedLimit> kept_by(const ShardConnections::Shard& shard, std::vector<ListedLimit> limits) {
  for (ListedLimit& limit : limits) limit.shard = shard.address.shard;
  return limits;
}

}  // namespace

std::string ListedLimit::limit_text() const {
  if (interval.count() == 0) return fmt::format("{} at once", amount);
  return fmt::format("{} in {}s", amount, std::chrono::duration<double>(interval).count());
}

std::string ListedLimit::json(bool with_holders) const {
  JsonWriter json;
  json.text("name", name).text("kind", kind).number("limit", amount).number("held", held);
  if (counts)
    json.decimal("interval", std::chrono::duration<double>(interval).count())
        .number("taken", counts->taken)
        .number("waited", counts->waited)
        .decimal("wait_seconds", static_cast<double>(counts->waited_ms) / 1000)
        .number("over", counts->over)
        .number("reclaimed", counts->reclaimed);
  if (with_holders) json.texts("holders", holders);
  if (!shard.empty()) json.text("shard", shard);
  return json.object();
}

std::vector<ListedLimit> list_limits_of(Connection& redis, std::size_t most) {
  std::vector<ListedLimit> limits;
  const Reply caps = redis.call(ask_caps());
  for (const auto& [name, places] : read_caps(caps.view())) {
    if (limits.size() == most) break;
    limits.push_back(listed_cap(redis, name, places));
  }
  const Reply known = redis.call(ask_limit_names());
  std::vector<std::string> names = read_name_list(known.view());
  std::sort(names.begin(), names.end());
  names.resize(std::min(names.size(), most));
  for (const std::string& name : names) {
    const Reply shown = redis.run(show_limit(name));
    if (auto view = read_limit_view(shown.view())) limits.push_back(listed(name, std::move(*view)));
  }
  return limits;
}

std::vector<ListedLimit> list_limits_of(ShardConnections::Shard& shard, std::size_t most) {
  return kept_by(shard, list_limits_of(shard.redis, most));
}

std::vector<ListedLimit> find_limits(ShardConnections::Shard& shard, const std::string& name) {
  Connection& redis = shard.redis;
  std::vector<ListedLimit> limits;
  const Reply known = redis.call(ask_caps());
  const auto caps = read_caps(known.view());
  if (const auto cap = caps.find(name); cap != caps.end()) limits.push_back(listed_cap(redis, name, cap->second));
  const Reply shown = redis.run(show_limit(name));
  if (auto view = read_limit_view(shown.view())) limits.push_back(listed(name, std::move(*view)));
  return kept_by(shard, std::move(limits));
}

std::int64_t reset_limits(ShardConnections::Shard& shard, const std::string& name) {
  std::int64_t held = 0;
  for (const ListedLimit& limit : find_limits(shard, name)) held += limit.counts ? 0 : limit.held;
  shard.redis.call(forget_cap(name));
  const Reply reply = shard.redis.run(reset_limit(name));
  return held + read_reset_limit(reply.view()).value_or(0);
}

}  // namespace brood
