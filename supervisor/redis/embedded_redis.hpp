#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/command.hpp"
#include "supervisor/process/children.hpp"

namespace brood {

// The private redis-server of a machine with nothing configured: append-only file, noeviction, a Unix socket in the
// state directory, its own process group.  It outlives a supervisor that is killed, so that the workers can still
// settle; the next supervisor finds it by the lock that it holds.  The supervisors of one user share it, and the last
// one stops it.
class EmbeddedRedis {
 public:
  // Makes the directories.  A server that already runs keeps the `fsync` that it was started with.  Throws
  // std::system_error.
  EmbeddedRedis(std::string state_directory, std::string socket_path, AppendFsync fsync);

  // Why there will be no server at this socket: no process listens there, and redis-server is not installed.  Empty if
  // there may be one.
  static std::string why_none(const std::string& socket_path);

  EmbeddedRedis(const EmbeddedRedis&) = delete;
  EmbeddedRedis& operator=(const EmbeddedRedis&) = delete;

  // Sets how a server that is started later syncs.  Returns the command that sets the same for a running one.
  Command sync_from_now_on(AppendFsync fsync);

  // Starts the server unless it runs.  Throws std::system_error if it cannot fork.
  void start(Children& children);
  // When a server of ours that has ended is to be started again.
  std::optional<SteadyTime> next_start() const { return next_start_; }
  // Call it now and then while the server does not answer.  A server that is not our child may have ended, or our fork
  // may have failed.
  void look(SteadyTime now);

  // Asks the server to end unless another supervisor uses it.  Returns false if there is nothing to wait for.
  bool stop();
  bool running() const;
  void kill_now();

 private:
  void ended(const Children::End& end);
  pid_t pid() const { return child_.is_running() ? child_.pid() : adopted_; }

  std::string directory_, socket_path_;
  AppendFsync fsync_;
  UniqueFd user_lock_;  // held shared by every supervisor that uses the server
  pid_t adopted_ = 0;   // pid of the server that another supervisor started
  std::uint64_t adopted_start_time_ = 0;
  int failures_ = 0;
  SteadyTime started_{};
  std::optional<SteadyTime> next_start_;
  bool stopping_ = false;
  Child child_;  // empty if another supervisor started the server
};

}  // namespace brood
