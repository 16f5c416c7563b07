#include "supervisor/cli/bench/bench_redis.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/process/fork_child.hpp"

namespace brood {

using namespace std::chrono_literals;

BenchRedis::BenchRedis(const std::string& directory, const std::string& appendfsync) {
  address_.socket_path = directory + "/redis.sock";
  const char* const keeps = appendfsync.empty() ? "no" : "yes";
  pid_ = spawn_program({.title = "redis-server", .keep = {}, .parent_death_signal = SIGKILL},
                       {"redis-server",
                        "--port",
                        "0",
                        "--unixsocket",
                        address_.socket_path,
                        "--unixsocketperm",
                        "600",
                        "--dir",
                        directory,
                        "--logfile",
                        directory + "/redis.log",
                        "--save",
                        "",
                        "--appendonly",
                        keeps,
                        "--appendfsync",
                        appendfsync.empty() ? "no" : appendfsync,
                        "--daemonize",
                        "no",
                        "--supervised",
                        "no"});
  try {
    wait_for_answer();
  } catch (...) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    throw;
  }
}

void BenchRedis::wait_for_answer() const {
  const SteadyTime deadline = steady_now() + 10s;
  Connection redis(address_, {.connect = 5s, .command = 5s}, "brood-bench");
  for (;;) {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == pid_)
      throw std::runtime_error("redis-server does not start; is the package redis-server installed?");
    try {
      redis.call({"PING"});
      return;
    } catch (const ConnectionLost&) {
      if (steady_now() > deadline) throw;
    }
    std::this_thread::sleep_for(2ms);
  }
}

BenchRedis::~BenchRedis() {
  kill(pid_, SIGKILL);  // its data is of no use any more
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace brood
