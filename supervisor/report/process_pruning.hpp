#pragma once

#include <string>
#include <vector>

#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Removes identities whose heartbeat has expired from `processes`, as every Sidekiq process does: once after the first
// ten to fifteen seconds and then hourly, under the lock that the whole fleet shares.  brood itself does not need this.
class ProcessPruning {
 public:
  ProcessPruning(EventLoop& loop, AsyncConnection& redis);
  ProcessPruning(const ProcessPruning&) = delete;
  ProcessPruning& operator=(const ProcessPruning&) = delete;

  void start();
  void stop();

  // Prunes now, unless another process did within the last minute.
  void prune();

  // Removes an identity that is known to be dead.  Otherwise its last heartbeat would keep it on Sidekiq's pages for up
  // to a minute.
  void unlist(const std::string& identity);

 private:
  void scan(const std::string& position);
  void ask_of(const std::vector<std::string>& identities, const std::string& next);
  void remove(const std::vector<std::string>& identities, const std::vector<AsyncConnection::Result>& infos);

  AsyncConnection::Scope redis_;
  Timer next_;
};

}  // namespace brood
