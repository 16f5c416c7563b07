#pragma once

#include <brood/api.hpp>
#include <brood/client.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/config.hpp"
#include "supervisor/cli/access/ask_published_classes.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/status/status_report.hpp"

namespace brood {

// The sources of the pages: Redis, by the data API and the questions of `brood status`; this machine, by scoreboards
// and control sockets.  Between two requests it keeps only connections and the documents of published builds, so
// nothing is out of date.  Each lane has its own Site.
class Site {
 public:
  Site(RedisAccess access, WebSettings settings) : access_(std::move(access)), settings_(std::move(settings)) {}

  const WebSettings& settings() const { return settings_; }
  Config configuration() const { return access_.configuration(); }  // as it is now

  // The command line that performs the job again under a debugger.
  std::string replay_of(const std::string& jid) const;

  // Throws Refused while Redis rests; RedisError, or what RedisAccess::shards() throws.
  Api& api();
  // The same shards, for what the data API lacks.
  ShardConnections& shards();
  // For pushes.
  Client& client();
  std::shared_ptr<const PublishedClasses> published_classes() { return published_.ask(shards()); }
  // Takes the shards that were away at the last request, with the reasons.
  std::vector<std::string> take_away();

  StatusReport machine() const;  // without Redis
  StatusReport everything();     // what answers in time
  StatusReport own_processes();  // only this machine's supervisors from Redis
  StatusReport readiness();      // only whether Redis answers

  // Whether this page, and no other host's, reports the figures of the whole Redis.  Also true if no host can be
  // chosen.
  bool tells_of_redis();

  // Does not ask a Redis that did not answer again for a second.  A Redis that hangs makes each request wait for
  // seconds, and there may be many requests.
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
  PublishedClassesForPushes published_;
  std::vector<std::string> away_;
  std::string why_it_rests_;
  SteadyTime rests_until_{}, answered_{}, may_not_tell_until_{};
};

}  // namespace brood
