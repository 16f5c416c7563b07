#include "supervisor/control/asker.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "shared/base/identity.hpp"

#ifndef SO_PEERPIDFD  // headers before Linux 6.5
#define SO_PEERPIDFD 77
#endif

namespace brood {
namespace {

// nullopt if this kernel has no SO_PEERPIDFD.  An empty descriptor if the process has ended.
std::optional<UniqueFd> peer_process(int connection) {
  int process = -1;
  socklen_t size = sizeof process;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &process, &size) == 0) return UniqueFd(process);
  if (errno == ENOPROTOOPT || errno == EMFILE || errno == ENFILE) return std::nullopt;
  return UniqueFd();
}

}  // namespace

std::optional<Asker> Asker::of(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  Asker asker;
  asker.pid_ = peer.pid;
  asker.user_ = peer.uid;
  if (auto process = peer_process(connection)) {
    asker.process_ = std::move(*process);
    return asker;
  }
  asker.process_.reset(static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0)));
  if (!asker.process_ && errno != ESRCH) asker.start_time_ = process_start_time(peer.pid);
  return asker;
}

bool Asker::lives() const {
  if (!process_) return start_time_ != 0 && process_start_time(pid_) == start_time_;
  pollfd end{process_.get(), POLLIN, 0};
  return poll(&end, 1, 0) == 0;
}

Standing standing_of(const SeenAsker& asker, uid_t own_user, FileLocks own_limit) {
  if (asker.user == 0 && own_user != 0) return Standing::trusted;  // no job becomes root, and root needs no permission
  if (!asker.lives) return Standing::gone;
  if (own_limit == 0) return Standing::unmarked;
  if (!asker.limit) return Standing::hidden;
  return *asker.limit < own_limit ? Standing::job : Standing::trusted;
}

Standing standing_of(const Asker& asker, FileLocks own_limit) {
  // A process outside our pid namespace and its descendants has no pid here.
  const auto limit = asker.pid() > 0 ? file_locks_of(asker.pid()) : std::nullopt;
  return standing_of({.user = asker.user(), .lives = asker.lives(), .limit = limit}, geteuid(), own_limit);
}

}  // namespace brood
