#pragma once

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

// What an error reply says of where the keys of a command are.  Nothing of the command was applied.
struct Redirection {
  enum class Kind {
    moved,      // that node owns the slot from now on
    ask,        // the slot is on its way there, and these keys have gone already: this one command is to be sent there
    try_again,  // the slot is on its way, and only some of the keys have gone
  } kind = Kind::moved;
  int slot = 0;    // not with try_again, nor the node
  RedisSeed node;  // without a host: where the one is that answered so
};
std::optional<Redirection> read_redirection(std::string_view error);

// Of commands that were sent together, those that are to be sent again, in order, and why: the first of them that was
// redirected says so.  Of a transaction all are, from MULTI to EXEC, if one was: none of it was applied.  So is a WAIT
// behind one of them: it asked whether replicas have what was not written.
struct Redirected {
  std::vector<std::size_t> places;
  Redirection redirection;
  bool in_transaction = false;  // the first of them begins one
  bool with_wait = false;       // the last of them asks for replicas
};
std::optional<Redirected> find_redirected(std::span<const Command> commands, std::span<const Reply> replies);

}  // namespace brood
