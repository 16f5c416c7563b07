#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/redis_server.hpp"

namespace brood {

// A real Redis Cluster of the test's own, on loopback ports: some masters that share all slots, and as many replicas of
// each.  It is ready when the constructor returns.
class RedisCluster {
 public:
  struct Options {
    std::size_t masters = 3, replicas_of_each = 1;
    std::chrono::milliseconds node_timeout{1'500};  // a node that is silent for longer counts as dead
    bool append_only = true;
    std::vector<std::string> extra{};            // additional arguments of each redis-server
    std::optional<RedisServer::TlsFiles> tls{};  // all nodes speak only TLS, except on Unix sockets
    std::string host = "127.0.0.1";
    // The host of the first node, if it is not beside the others, and the command that executes it there.
    std::string first_host{};
    std::vector<std::string> first_prefix{};
  };
  RedisCluster() : RedisCluster(Options()) {}
  explicit RedisCluster(Options options);

  // cluster://, with all nodes; and one of its shards as an address that knows the authority of `tls`.
  std::string url() const;
  RedisAddress address(int shard = 0) const;

  // The masters come first, as they were at the beginning, then the replicas of the first, of the second and so on.
  std::size_t size() const { return nodes_.size(); }
  RedisServer& node(std::size_t i) { return *nodes_.at(i); }

  // The node that owns the slot now, according to most of the nodes.
  RedisServer& owner(int slot);
  // A living replica of a node.  Throws std::runtime_error if there is none.
  RedisServer& replica_of(RedisServer& master);

  // Lets a replica with all data take over from its living master.
  void fail_over(int slot, RedisServer& replica);

  // Moves a slot and its content, as redis-cli --cluster reshard does, a few keys at a time.  The other three are its
  // steps.
  void move_slot(int slot, RedisServer& to);
  void begin_move(int slot, RedisServer& from, RedisServer& to);
  void move_keys(int slot, RedisServer& from, RedisServer& to);
  void end_move(int slot, RedisServer& from, RedisServer& to);

  // Whether all living nodes report that all slots are served.
  bool works();

  // All keys of the cluster that match the pattern.
  std::vector<std::string> keys(const std::string& pattern = "*");

 private:
  const std::string& host_of(const RedisServer& node) const;

  const Options options_;
  std::string first_bus_;  // the port by which the others meet the first
  std::vector<std::unique_ptr<RedisServer>> nodes_;
  std::vector<std::string> ids_;  // of the nodes.  Ports would not do: a client without TLS may be told other ones.
};

std::string cluster_id(RedisServer& node);

}  // namespace brood
