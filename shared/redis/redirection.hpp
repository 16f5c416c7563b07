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

// Where the keys of a command are, by an error reply.  Nothing of the command was applied.
struct Redirection {
  enum class Kind {
    moved,      // that node owns the slot from now on
    ask,        // the slot is on its way there, and these keys have gone already: this one command is to be sent there
    try_again,  // the slot is on its way, and only some of the keys have gone
  } kind = Kind::moved;
  int slot = 0;    // not with try_again, nor the node
  RedisSeed node;  // without a host: that of the node that answered
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
