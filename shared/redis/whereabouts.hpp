#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// Finds the server of a connection's address.  An ordinary server is at the address itself; others are found by asking
// sentinels or the nodes of a cluster.
class Whereabouts {
 public:
  explicit Whereabouts(RedisAddress address) : address_(std::move(address)) {}

  const RedisAddress& address() const { return address_; }
  // Uses another address from now on.  For each address it remembers where the server was found, for
  // on_another_server().
  void move_to(RedisAddress address);

  // Whether the nodes of a cluster must be asked.
  bool is_a_slot() const { return address_.in_cluster && address_.must_be_found(); }

  // Where to connect to now.  Blocks and throws as find_server() does.
  RedisAddress find(SteadyTime deadline);
  // `found` is called when find() finds another server than the last time.
  void on_another_server(std::function<void()> found) { finds_another_ = std::move(found); }

  // A node has reported that `node` owns the slot: the next find() goes there.
  void moved_to(const RedisSeed& node) { moved_to_ = this->node(node); }
  void forget_move() { moved_to_.reset(); }
  // A node of the same cluster as the one found last.
  RedisAddress node(const RedisSeed& node) const;

  // Whether other nodes name another owner of the slot than the server found.  Returns true only once for each server:
  // if they know it by another name, they would always name another.  Blocks until `deadline` at most.
  bool others_name_another(SteadyTime deadline);
  // Whether a search now would find the same server.  With sentinels, at least one has to confirm that.  Blocks until
  // `deadline` at most.
  bool is_at_master(SteadyTime deadline) const;

 private:
  RedisAddress address_;
  std::map<std::string, RedisSeed> places_;  // where each address was found last
  RedisSeed place_;                          // of the server found
  std::string host_;                         // of the address that was found
  std::optional<RedisAddress> moved_to_;
  RedisSeed doubted_;  // the server for which another node has named another owner
  std::function<void()> finds_another_;
};

}  // namespace brood
