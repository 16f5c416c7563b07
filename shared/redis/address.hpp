#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/base/secret.hpp"
#include "shared/redis/tls_settings.hpp"

namespace brood {

class TlsCertificates;

class AddressError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A process that knows where the server is: a sentinel, or a node of a cluster.
struct RedisSeed {
  std::string host;  // a name or a number
  std::uint16_t port = 0;
  bool operator==(const RedisSeed&) const = default;
};

// How many replicas must have a write before it counts as written.
struct ReplicaWait {
  int replicas = 0;  // 0: none is asked
  std::chrono::milliseconds timeout{1'000};
};

// Where one shard is: a Redis, our user there, and the prefix of its keys.
struct RedisAddress {
  std::string shard;            // what the shard is called; empty: it is the only one
  std::string key_prefix;       // of every key in it; empty: the keys are Sidekiq's own
  bool is_drained = false;      // its jobs are performed, but no new ones are pushed there
  bool is_empty_place = false;  // the place of a shard that was taken out: there is no server
  std::string host;             // empty for a Unix socket
  std::uint16_t port = 6379;
  std::string socket_path;
  std::string user;
  Secret password;
  std::string password_file;  // may hold a newer password: see password_now()
  int db = 0;
  std::vector<std::string> numeric_hosts;  // what `host` resolved to; empty: `host` itself (blocking getaddrinfo)
  std::vector<RedisSeed> seeds;            // where to ask for the server; then `host` is empty: see find_server.hpp
  bool in_cluster = false;                 // the server is the node that owns the slot of `key_prefix`
  std::string master;                      // what sentinels call the server
  std::string sentinel_user;               // our user there
  Secret sentinel_password;
  std::string sentinel_password_file;
  ReplicaWait wait;
  std::optional<TlsSettings> tls;  // for rediss://, or if sentinels and servers use TLS; nullopt: no TLS
  // The content of `tls`' files, for all connections of this process; null: each connection reads them as it begins.
  std::shared_ptr<TlsCertificates> certificates;

  // Reads one of these; percent escapes in user and password are decoded.  Throws AddressError with a sentence.
  //
  //   redis:// or rediss://[user:password@][host][:port][/db][?db=N]
  //   unix://[user:password@]/path[?db=N], or the path alone
  //   sentinel://[user:password@]host[:port],host[:port]/name[?db=N]
  //   cluster://[user:password@]host[:port],host[:port]
  static RedisAddress parse(const std::string& url);

  // For logs and `status`: never with the password.
  std::string without_password() const;

  bool needs_resolving() const;  // a host name, not a numeric address or a socket
  bool has_sentinels() const { return !master.empty(); }
  bool must_be_found() const { return !seeds.empty(); }  // the server, by asking `seeds`
};

// The address of the shard with this number, from 0, of the same cluster: all its keys lie in one slot.
RedisAddress in_shard(RedisAddress cluster, int number);

}  // namespace brood
