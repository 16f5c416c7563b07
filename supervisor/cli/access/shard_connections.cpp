#include "supervisor/cli/access/shard_connections.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <set>
#include <utility>

#include "shared/base/log_line.hpp"

namespace brood {

ShardConnections::ShardConnections(const RedisAccess& access, Connection::Timeouts timeouts,
                                   const std::string& client_name) {
  for (RedisAddress& address : access.shards()) {
    Connection redis(address, timeouts, client_name);
    shards_.push_back(std::make_unique<Shard>(Shard{std::move(address), std::move(redis)}));
  }
}

void ShardConnections::each(const std::function<void(Shard&)>& ask) {
  if (shards_.size() == 1) return ask(*shards_.front());
  std::exception_ptr trouble;
  std::size_t away = 0;
  for (const auto& shard : shards_) {
    try {
      ask(*shard);
    } catch (const ConnectionLost& lost) {
      (away_ ? away_ : Away(say_away))(shard->address.shard, lost.what());
      if (!trouble) trouble = std::current_exception();
      ++away;
    }
  }
  if (away == shards_.size()) std::rethrow_exception(trouble);
}

bool ShardConnections::any(const std::function<bool(Shard&)>& ask) {
  bool found = false;
  each([&](Shard& shard) { found = found || ask(shard); });
  return found;
}

void say_away(const std::string& shard, const std::string& why) {
  static std::set<std::string> said;
  if (said.insert(shard).second)
    fmt::print(stderr, "brood: shard {} is away and left out: {}\n", log::printable(shard), log::printable(why));
}

}  // namespace brood
