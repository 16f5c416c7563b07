#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/connection.hpp"
#include "tests/support/server_process.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// A real redis-server of the test's own, on a Unix socket in its own directory.  It ends with the test, even if the
// test is killed.  Construct and restart it on the main thread: the kernel kills it when the thread that started it
// ends.
class RedisServer {
 public:
  // The paths of PEM files.
  struct TlsFiles {
    std::string cert, key;
    std::string ca;                 // the authority of the client certificates that it accepts
    bool requires_clients = false;  // rejects clients without a certificate
    std::string protocols{};        // "TLSv1.2"; empty: all
  };

  struct Options {
    // Keeps its data over kill9() and restart(): each write is on disk before its reply.  With everysec Redis may delay
    // writes for two seconds while the disk is slow, and a kill would then lose what it had answered.
    bool append_only = false;
    std::vector<std::string> extra{};  // further arguments of redis-server
    bool tcp = false;                  // also listens on a free loopback port, which url() then names
    std::string password{};
    // Adds the users of etc/redis-users.acl, each with the password "secret".
    bool users = false;
    // Speaks only TLS on the port that url() names, and to servers that it follows, but not on its Unix socket.
    std::optional<TlsFiles> tls{};
    std::string host = "127.0.0.1";     // the address that it listens on
    std::vector<std::string> prefix{};  // a command that executes it, such as ip netns exec
  };

  RedisServer() : RedisServer(Options()) {}
  explicit RedisServer(Options options);
  // The address for the user of etc/redis-users.acl that BROOD_TEST_USER names, unless the options set a password.
  // With TLS it trusts the `ca`.
  RedisAddress address() const;
  std::string url() const;  // with the password
  std::string url_of(const std::string& user) const;
  std::string user() const;         // of address()
  std::string socket_path() const;  // even if it listens on TCP
  std::uint16_t port() const { return port_; }
  std::string directory() const { return directory_.path(); }
  pid_t pid() const { return process_.pid(); }
  bool runs() const { return process_.runs(); }  // neither killed nor paused

  void kill9() { process_.kill9(); }
  void restart();  // starts it again (kills it first if it runs) at the same address, and waits until it answers
  void pause() { process_.pause(); }  // it still accepts connections but never answers
  void resume() { process_.resume(); }
  void show(const TlsFiles& files);  // for later connections

  // On a separate connection, not counted among those that a test opens.  Returns error replies.
  Reply command(const Command& command);

  // A number from INFO; and the number of commands that the server has processed, of the test and all others.
  long figure(const std::string& section, const std::string& name);
  long commands_processed() { return figure("stats", "total_commands_processed"); }

  // Reads of a key; each throws UnexpectedReply if the key has another type.
  std::size_t size_of(const std::string& key);  // elements of a list, set, sorted set or hash; 0 if it is missing
  std::optional<std::string> get(const std::string& key);
  std::optional<std::string> hget(const std::string& key, const std::string& field);
  std::map<std::string, std::string> hgetall(const std::string& key);
  std::vector<std::string> lrange(const std::string& key);                     // head to tail
  std::vector<std::string> smembers(const std::string& key);                   // sorted
  std::vector<std::pair<std::string, double>> zrange(const std::string& key);  // lowest score first
  std::vector<std::string> keys(const std::string& pattern = "*");             // sorted
  std::int64_t integer(const Command& command);
  void flush();

 private:
  std::string url_by(const std::string& who) const;
  void start();
  bool launch();

  Options options_;
  std::string user_;  // the user of address()
  TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  ServerProcess process_;
  Connection connection_;
};

// A loopback port that was free a moment ago.
std::uint16_t free_port();

}  // namespace brood
