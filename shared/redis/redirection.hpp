#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Where the keys of a command are, from an error reply of a node of a cluster.  Nothing of the command was applied.
struct Redirection {
  enum class Kind {
    moved,      // `node` owns the slot from now on
    ask,        // the slot is moving to `node`, and these keys are there already: send this one command there
    try_again,  // the slot is moving, and only some of the keys have moved: send the command again, later
  } kind = Kind::moved;
  int slot = 0;    // not set for try_again, and neither is the node
  RedisSeed node;  // if it has no host: the host of the node that answered
};
std::optional<Redirection> read_redirection(std::string_view error);

// From commands that were sent together, selects those to send again, in order; `redirection` is that of the first one
// that was redirected.  If one command of a transaction was, all of it is sent again, from MULTI to EXEC: none of it
// was applied.  A WAIT behind a redirected command is sent again, too: it waited for replicas of a write that was not
// made.
struct Redirected {
  std::vector<std::size_t> places;
  Redirection redirection;
  bool in_transaction = false;  // the first of them begins one
  bool with_wait = false;       // the last of them asks for replicas
};
std::optional<Redirected> find_redirected(std::span<const Command> commands, std::span<const Reply> replies);

// Sends commands to the nodes that a cluster redirects them to.  Its functions throw what a Connection throws.
class RedirectedSender {
 public:
  virtual ~RedirectedSender() = default;

  virtual std::vector<Reply> send(std::span<const Command> commands) = 0;
  // Makes send() use this node from now on.
  virtual void go_to(const RedisSeed& node) = 0;
  // Sends to this node once, for a slot that is moving there.
  virtual std::vector<Reply> ask(const RedisSeed& node, const std::vector<Command>& commands) = 0;
  virtual void pause(std::chrono::milliseconds time) = 0;
};

// Sends the commands again that the nodes of a cluster have redirected, for two seconds at most, and puts the answers
// into `replies`.  None of these commands was applied before.  Commands that were sent together, without a transaction,
// may be applied in another order than given.
void follow_redirections(std::span<const Command> commands, std::vector<Reply>& replies, RedirectedSender& sender);

}  // namespace brood
