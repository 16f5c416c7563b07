#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// A real sentinel on a free loopback port.  It ends with the test, even when the test is killed.
class Sentinel {
 public:
  struct Options {
    std::string master = "mymaster";
    std::string host = "127.0.0.1", master_host = "127.0.0.1";
    std::uint16_t master_port = 0;
    std::string master_password{}, password{};  // of the master, and its own
    int quorum = 2;
  };
  explicit Sentinel(Options options);
  ~Sentinel();
  Sentinel(const Sentinel&) = delete;
  Sentinel& operator=(const Sentinel&) = delete;

  std::uint16_t port() const { return port_; }
  void kill9();
  void start();  // again, at the same port, with what it knew
  void pause();
  void resume();
  Reply command(const Command& command);

 private:
  TemporaryDirectory directory_;
  const std::string host_;
  std::uint16_t port_;
  pid_t pid_ = -1, owner_;
  Connection connection_;
};

// A master, two replicas and three sentinels, two of which must agree that the master is down for half a second.
class SentinelSetup {
 public:
  struct Options {
    std::string password{}, sentinel_password{};
    std::vector<std::string> extra{};  // further arguments of redis-server
    std::string host = "127.0.0.1";
    // Where the first server is, if not beside the others, and what executes it there.
    std::string first_host{};
    std::vector<std::string> first_prefix{};
  };
  SentinelSetup() : SentinelSetup(Options()) {}
  explicit SentinelSetup(Options options);

  std::string url(const std::string& query = "") const;  // sentinel://, with the server's password
  RedisServer& server(std::size_t i) { return *servers_.at(i); }
  Sentinel& sentinel(std::size_t i) { return *sentinels_.at(i); }

  // The server that says it is the master, and takes writes.  Waits up to half a minute for one that is not `but`.
  RedisServer& master(const RedisServer* but = nullptr);
  bool is_master(RedisServer& server);
  // Whether both others follow `master` and are in step.
  bool is_in_step(RedisServer& master);

 private:
  Options options_;
  std::array<std::unique_ptr<RedisServer>, 3> servers_;
  std::array<std::unique_ptr<Sentinel>, 3> sentinels_;
};

}  // namespace brood
