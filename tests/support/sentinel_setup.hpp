#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/server_process.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// A real sentinel on a free loopback port.  It ends with the test, even if the test is killed.
class Sentinel {
 public:
  struct Master {
    std::string name, host;
    std::uint16_t port = 0;
  };
  struct Options {
    std::vector<Master> masters;
    std::string host = "127.0.0.1";
    std::string master_password{}, password{};  // of the masters, and its own
    int quorum = 2;
    std::optional<RedisServer::TlsFiles> tls{};  // speaks only TLS
  };
  explicit Sentinel(Options options);

  std::uint16_t port() const { return port_; }
  void kill9() { process_.kill9(); }
  void start();  // again, at the same port, with its former knowledge
  void pause() { process_.pause(); }
  void resume() { process_.resume(); }
  Reply command(const Command& command);
  std::string log() const { return text_of_file(directory_ / "log"); }

 private:
  TemporaryDirectory directory_;
  std::uint16_t port_;
  ServerProcess process_;
  Connection connection_;
};

// A master and two replicas, or several such groups, and three sentinels.  Two of them must agree that a master has
// been down for two seconds.
class SentinelSetup {
 public:
  struct Options {
    std::string password{}, sentinel_password{};
    std::vector<std::string> extra{};  // additional arguments of redis-server
    std::string host = "127.0.0.1";
    // The host of the first server, if it is not beside the others, and the command that executes it there.
    std::string first_host{};
    std::vector<std::string> first_prefix{};
    std::size_t groups = 1, replicas = 2;
    std::optional<RedisServer::TlsFiles> tls{};  // all speak only TLS, except on Unix sockets
  };
  SentinelSetup() : SentinelSetup(Options()) {}
  explicit SentinelSetup(Options options);

  // sentinel://, with the server's password; and the same as an address that knows the authority of `tls`.
  std::string url(const std::string& query = "", std::size_t group = 0) const;
  RedisAddress address(std::size_t group = 0) const;
  // The first of a group was its master at the beginning.
  RedisServer& server(std::size_t i, std::size_t group = 0) { return *servers_.at(group * of_each() + i); }
  Sentinel& sentinel(std::size_t i) { return *sentinels_.at(i); }

  // The server that reports to be the group's master and takes writes.  Waits half a minute for one that is not `but`.
  RedisServer& master(const RedisServer* but = nullptr, std::size_t group = 0);
  bool is_master(RedisServer& server);
  // Whether all others of its group follow `master` and are in step.
  bool is_in_step(RedisServer& master);

 private:
  std::size_t of_each() const { return 1 + options_.replicas; }

  Options options_;
  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::array<std::unique_ptr<Sentinel>, 3> sentinels_;
};

}  // namespace brood
