#pragma once

#include <brood/api.hpp>
#include <brood/client.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/config.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/status/status_report.hpp"

namespace brood {

// Where the pages read: Redis by the data API and by what `brood status` asks, this machine by scoreboards and control
// sockets.  Nothing is kept between two requests but connections, so nothing can be out of date.  Each lane has its
// own.
class Site {
 public:
  Site(RedisAccess access, WebSettings settings) : access_(std::move(access)), settings_(std::move(settings)) {}

  const WebSettings& settings() const { return settings_; }
  Config configuration() const { return access_.configuration(); }  // as it is now

  // What a person types to perform the job again under a debugger.
  std::string replay_of(const std::string& jid) const;

  // Throw Refused while they rest; RedisError, or what RedisAccess::shards() throws.
  Api& api();
  // The same shards, for what the data API has no word for.
  ShardConnections& shards();
  // For pushes.
  Client& client();
  // Shards that were away when either was last asked, with the reason; forgotten by being taken.
  std::vector<std::string> take_away();

  StatusReport machine() const;  // without Redis
  StatusReport everything();     // whatever answers in time
  StatusReport own_processes();  // from Redis only this machine's supervisors
  StatusReport readiness();      // of Redis whether it answers

  // Whether this page, and that of no other host, is to tell what is true of the whole Redis.  Where nobody can be
  // chosen it is.
  bool tells_of_redis();

  // A Redis that did not answer is not asked for a second: one that hangs makes each who asks it wait for seconds, and
  // many may ask.
  void rest(const std::string& why);

 private:
  std::optional<std::string> why_it_rests() const;
  void refuse_while_resting() const;
  template <typename Look>
  StatusReport look(Look look);
  void prove_that_redis_answers();
  void note_away(const std::string& shard, const std::string& why);

  RedisAccess access_;
  WebSettings settings_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<ShardConnections> shards_;
  std::optional<Client> client_;
  std::vector<std::string> away_;
  std::string why_it_rests_;
  SteadyTime rests_until_{}, answered_{}, may_not_tell_until_{};
};

}  // namespace brood
