#pragma once

#include <memory>
#include <vector>

#include "tests/store/interleavings/network.hpp"

namespace brood::interleavings {

// A worker's connection, to one shard at a time.  Commands that were already sent to another shard stay on their way
// there.
class MovingChannel : public Channel {
 public:
  MovingChannel(const std::vector<Network*>& shards, const UnreliableChannel::Rewrite& rewrite, int shard)
      : served_(static_cast<std::size_t>(shard)) {
    for (Network* network : shards) channels_.push_back(std::make_unique<UnreliableChannel>(*network, rewrite));
  }
  void belong_to(Actor& actor) {
    for (auto& channel : channels_) channel->belong_to(actor);
  }
  void serve(int shard) {
    disconnect();
    served_ = static_cast<std::size_t>(shard);
  }

  UnreliableChannel& now() { return *channels_[served_]; }

  Reply call(const Command& command) override { return now().call(command); }
  std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience) override {
    return now().call_patiently(commands, patience);
  }
  void disconnect() override { now().disconnect(); }

 private:
  std::vector<std::unique_ptr<UnreliableChannel>> channels_;
  std::size_t served_;
};

}  // namespace brood::interleavings
