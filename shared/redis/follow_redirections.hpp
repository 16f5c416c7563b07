#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Whoever can send commands to the nodes that a cluster redirects them to.  Its functions throw what a Connection
// throws.
class RedirectedSender {
 public:
  virtual ~RedirectedSender() = default;

  virtual std::vector<Reply> send(std::span<const Command> commands) = 0;
  // From the next send() on.
  virtual void go_to(const RedisSeed& node) = 0;
  // Once, for a slot that is on its way there.
  virtual std::vector<Reply> ask(const RedisSeed& node, const std::vector<Command>& commands) = 0;
  virtual void pause(std::chrono::milliseconds time) = 0;
};

// Sends again, for two seconds at most, what the nodes of a cluster have redirected, and puts the answers into
// `replies`.  Nothing of it was applied.  Commands that were sent together, and are no transaction, may so be applied
// in another order than they were given in.
void follow_redirections(std::span<const Command> commands, std::vector<Reply>& replies, RedirectedSender& sender);

}  // namespace brood
