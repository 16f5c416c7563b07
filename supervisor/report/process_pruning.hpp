#pragma once

#include <string>
#include <vector>

#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Takes identities whose heartbeat has expired out of `processes`, as every Sidekiq process does: once after the first
// ten to fifteen seconds and then hourly, under the lock that the whole fleet shares.  Nothing of ours depends on it.
class ProcessPruning {
 public:
  ProcessPruning(EventLoop& loop, AsyncConnection& redis);
  ProcessPruning(const ProcessPruning&) = delete;
  ProcessPruning& operator=(const ProcessPruning&) = delete;

  void start();
  void stop();

  // Prunes now, unless somebody did within the last minute.
  void prune();

  // Takes out an identity that is known to be dead: otherwise its last heartbeat would keep it on Sidekiq's pages for
  // up to a minute.
  void unlist(const std::string& identity);

 private:
  void scan(const std::string& position);
  void ask_of(const std::vector<std::string>& identities, const std::string& next);
  void remove(const std::vector<std::string>& identities, const std::vector<AsyncConnection::Result>& infos);

  AsyncConnection::Scope redis_;
  Timer next_;
};

}  // namespace brood
