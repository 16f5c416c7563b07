#include "shared/store/limits/limit_view.hpp"

#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"

namespace brood {

namespace scripts {
extern const Script show_limit, reset_limit;
}

Command ask_limit_names() { return {"ZRANGE", keys::brood_limits, "0", "-1"}; }

ScriptCall show_limit(const std::string& name) {
  return {&scripts::show_limit, {keys::brood_limits, keys::limit(name), keys::limit_used(name)}, {}};
}

std::optional<LimitView> read_limit_view(ReplyView reply) {
  if (reply.size() == 0) return std::nullopt;
  const std::optional<LimitKind> kind = limit_kind(reply[0].text());
  if (!kind) return std::nullopt;
  LimitView view;
  view.kind = *kind;
  view.amount = lenient_number<std::int64_t>(reply[1]);
  view.interval = std::chrono::milliseconds(lenient_number<std::int64_t>(reply[2]));
  view.held = lenient_decimal(reply[3]);
  const ReplyView counts = reply[4];
  std::size_t i = 0;
  for (std::int64_t* count : {&view.taken, &view.waited, &view.waited_ms, &view.over, &view.reclaimed})
    *count = lenient_number<std::int64_t>(counts[i++]);
  for (i = 0; i < reply[5].size(); ++i) view.holders.emplace_back(reply[5][i].text());
  return view;
}

ScriptCall reset_limit(const std::string& name) {
  return {&scripts::reset_limit, {keys::brood_limits, keys::limit(name), keys::limit_used(name)}, {}};
}

std::optional<std::int64_t> read_reset_limit(ReplyView reply) {
  if (reply.integer() < 0) return std::nullopt;
  return reply.integer();
}

}  // namespace brood
