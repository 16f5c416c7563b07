#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// Where a connection finds the server of its address.  An ordinary server is at the address itself; others are found by
// sentinels or the nodes of a cluster.
class Whereabouts {
 public:
  explicit Whereabouts(RedisAddress address) : address_(std::move(address)) {}

  const RedisAddress& address() const { return address_; }
  // Another server from now on.  Where each was found last is remembered, for on_another_server().
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

  // Whether other nodes name another owner of the slot than the one found.  Returns true once for each server: if they
  // know it by another name, they would name another for ever.  Blocks until `deadline` at most.
  bool others_name_another(SteadyTime deadline);
  // Whether a search now would find the same server.  With sentinels, at least one has to confirm that.  Blocks until
  // `deadline` at most.
  bool is_at_master(SteadyTime deadline) const;

 private:
  RedisAddress address_;
  std::map<std::string, RedisSeed> places_;  // where each address was found last
  RedisSeed place_;                          // of the server found
  std::string host_;                         // as the address that was found calls it
  std::optional<RedisAddress> moved_to_;
  RedisSeed doubted_;  // the server that another node named another for
  std::function<void()> finds_another_;
};

}  // namespace brood
