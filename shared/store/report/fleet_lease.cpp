#include "shared/store/report/fleet_lease.hpp"

#include <fmt/format.h>

#include "shared/base/log_line.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/redis_time.hpp"
#include "shared/store/script.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_shown = 200;

std::string text_of(const FleetLease& lease) {
  return JsonWriter().text("id", lease.id).text("by", lease.by).decimal("since", epoch_seconds(lease.since)).object();
}

// "12:04:05 UTC"
std::string clock_text(double epoch) {
  const auto second = static_cast<std::int64_t>(epoch) % 86'400;
  return fmt::format("{:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60);
}

}  // namespace

ScriptCall hold_fleet_lease(const FleetLease& lease, std::chrono::milliseconds time) {
  return {&scripts::fleet_lease, {keys::fleet_lease}, {text_of(lease), std::to_string(time.count())}};
}

std::string read_other_holder(ReplyView reply) {
  const std::string_view holder = reply.text();
  if (holder.empty()) return "";
  try {
    const JsonObject lease = JsonObject::parse(holder);
    const double since = lease.number("since").value_or(0);
    const std::string by = lease.string("by").value_or("an unnamed user").substr(0, longest_shown);
    return fmt::format("{} restarts the fleet since {}", log::printable(by),
                       since > 0 && since < 1e11 ? clock_text(since) : "an unknown time");
  } catch (const BadJson&) {
    return fmt::format("\"{}\" holds the fleet's lease", log::printable(holder.substr(0, longest_shown)));
  }
}

}  // namespace brood
