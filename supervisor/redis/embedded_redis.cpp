#include "supervisor/redis/embedded_redis.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/base/process_stat.hpp"
#include "shared/config/executable.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr const char* server_program = "redis-server";

UniqueFd open_lock(const std::string& path) {
  return UniqueFd(check("open", open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)));
}

bool try_lock(const UniqueFd& fd, int how) { return flock(fd.get(), how | LOCK_NB) == 0; }

const char* name_of(AppendFsync fsync) {
  switch (fsync) {
    case AppendFsync::always:
      return "always";
    case AppendFsync::everysec:
      return "everysec";
    case AppendFsync::no:
      return "no";
  }
  return "always";
}

// The process that listens on the socket: the kernel keeps the pid of the caller of listen(2) (unix(7), SO_PEERCRED).
pid_t listener_of(const std::string& socket_path) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!fd || socket_path.size() >= sizeof address.sun_path) return 0;
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  ucred peer{};
  socklen_t size = sizeof peer;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 0;
  return getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

// The living supervisor that started this server; 0 if it has ended and the server's parent is another program.
pid_t supervisor_of(pid_t server) {
  const auto stat = ProcessStat::read(server);
  if (!stat || stat->parent() <= 1) return 0;
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", stat->parent())), name);
  return name.starts_with("brood") ? stat->parent() : 0;
}

}  // namespace

EmbeddedRedis::EmbeddedRedis(std::string state_directory, std::string socket_path, AppendFsync fsync)
    : directory_(std::move(state_directory)), socket_path_(std::move(socket_path)), fsync_(fsync) {
  std::filesystem::create_directories(directory_ + "/redis");
  check("chmod", chmod((directory_ + "/redis").c_str(), 0700));
  sockaddr_un address{};
  if (socket_path_.size() >= sizeof address.sun_path)
    throw std::runtime_error(
        "the socket of the embedded Redis, " + socket_path_ + ", has a longer path than a socket may have (" +
        std::to_string(sizeof address.sun_path - 1) + " bytes); set STATE_DIRECTORY to a shorter one");
  user_lock_ = open_lock(directory_ + "/redis/users.lock");
  try_lock(user_lock_, LOCK_SH);
}

std::string EmbeddedRedis::why_none(const std::string& socket_path) {
  if (executable_path(server_program).find('/') != std::string::npos || listener_of(socket_path) > 0) return "";
  return "no program redis-server in PATH for the embedded Redis; install the package redis-server, or set the address "
         "of Redis (redis.url, --redis or REDIS_URL)";
}

Command EmbeddedRedis::sync_from_now_on(AppendFsync fsync) {
  fsync_ = fsync;
  return {"CONFIG", "SET", "appendfsync", name_of(fsync_)};
}

void EmbeddedRedis::start(Children& children) {
  next_start_.reset();
  // The server inherits this descriptor and with it the lock, so the lock ends exactly when the server does: two
  // servers on one append-only file would destroy it.
  const UniqueFd server_lock = open_lock(directory_ + "/redis/server.lock");
  if (!try_lock(server_lock, LOCK_EX)) {
    adopted_ = listener_of(socket_path_);
    adopted_start_time_ = adopted_ > 0 ? process_start_time(adopted_) : 0;
    if (adopted_ > 0) log::info("embedded_redis_adopted", {{"child_pid", adopted_}, {"socket", socket_path_}});
    if (const pid_t other = supervisor_of(adopted_); other > 0 && other != getpid())
      log::warn("embedded_redis_shared",
                {{"supervisor_pid", other},
                 {"hint",
                  "both supervisors fetch jobs from the private Redis of this user; if they have different job "
                  "libraries, give each a Redis of its own: set STATE_DIRECTORY to a directory of the project, for "
                  "brood run and for what enqueues, or redis.url"}});
    return;
  }
  const std::string data = directory_ + "/redis";
  child_ = children.spawn_program({.title = "brood: redis", .keep = {server_lock.get()}, .oom_score_adjustment = 0},
                                  {server_program,
                                   "--port",
                                   "0",
                                   "--unixsocket",
                                   socket_path_,
                                   "--unixsocketperm",
                                   "600",
                                   "--dir",
                                   data,
                                   "--appendonly",
                                   "yes",
                                   "--appendfsync",
                                   name_of(fsync_),
                                   "--save",
                                   "",
                                   "--maxmemory-policy",
                                   "noeviction",
                                   "--daemonize",
                                   "no",
                                   "--logfile",
                                   data + "/redis.log",
                                   "--supervised",
                                   "no"},
                                  [this](const Children::End& end) { ended(end); });
  started_ = steady_now();
  log::info("embedded_redis_started", {{"child_pid", child_.pid()}, {"socket", socket_path_}});
}

void EmbeddedRedis::ended(const Children::End& end) {
  log::write(stopping_ ? log::Level::info : log::Level::error, "embedded_redis_ended",
             {{"child_pid", end.pid}, {"status", end.status.describe()}});
  if (end.status.exited && end.status.value == 127)
    log::error("redis_server_missing", {{"hint", "install the package redis-server, or set redis.url"}});
  if (stopping_) return;
  failures_ = end.at - started_ < 5s ? std::min(failures_ + 1, 8) : 0;
  next_start_ = end.at + (failures_ == 0 ? 0ms : 100ms * (1 << failures_));
}

void EmbeddedRedis::look(SteadyTime now) {
  if (stopping_ || next_start_ || running()) return;
  try_lock(user_lock_, LOCK_SH);  // at our start, the supervisor that stopped the server may have held this lock
  next_start_ = now;
}

bool EmbeddedRedis::stop() {
  stopping_ = true;
  next_start_.reset();
  if (!running()) {  // when we found the server's lock taken, it may not have listened yet
    adopted_ = listener_of(socket_path_);
    adopted_start_time_ = adopted_ > 0 ? process_start_time(adopted_) : 0;
  }
  if (!try_lock(user_lock_, LOCK_EX)) return false;  // another supervisor uses it
  if (!running()) return false;
  // On TERM the server writes and syncs its append-only file before it ends.
  kill(pid(), SIGTERM);
  return true;
}

bool EmbeddedRedis::running() const {
  return child_.is_running() || (adopted_ > 0 && process_lives(adopted_, adopted_start_time_));
}

void EmbeddedRedis::kill_now() {
  if (running()) kill(pid(), SIGKILL);
}

}  // namespace brood
