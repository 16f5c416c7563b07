#include "supervisor/cli/fleet/fleet_order.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "shared/api/push/push_writer.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/store/redis_time.hpp"
#include "supervisor/cli/access/fleet.hpp"

namespace brood {
namespace {

constexpr std::int64_t seconds_to_be_taken = 60;

// Under sudo, the user that called it.
std::string user_name() {
  const char* const behind_sudo = getuid() == 0 ? std::getenv("SUDO_USER") : nullptr;
  if (behind_sudo != nullptr && *behind_sudo != '\0') return behind_sudo;
  const passwd* const entry = getpwuid(getuid());
  return entry != nullptr ? entry->pw_name : std::to_string(getuid());
}

}  // namespace

std::string giver_of_orders() {
  return (user_name() + "@" + Identity::of_this_process().hostname).substr(0, OrderTicket::longest_name);
}

std::optional<std::string> give_order(ShardConnections& shards, const std::string& identity, const std::string& verb,
                                      const std::vector<std::string>& arguments) {
  FleetWord word{.verb = verb, .arguments = arguments, .ticket = OrderTicket{.id = new_jid(), .by = giver_of_orders()}};
  const bool was_left = shards.any([&](ShardConnections::Shard& shard) {
    ask_redis_time(shard.redis);
    word.ticket->until = static_cast<std::int64_t>(epoch_seconds(redis_now())) + seconds_to_be_taken;
    return send_word(shard.redis, identity, word);
  });
  return was_left ? std::optional(word.ticket->id) : std::nullopt;
}

}  // namespace brood
