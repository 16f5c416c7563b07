#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

class Stream;

// The first commands on a new connection: AUTH, SELECT, CLIENT SETNAME, each only if it is needed.  AUTH lacks its last
// argument, the password.
std::vector<Command> greeting(const RedisAddress& address, const std::string& client_name);

// Queues a `command` of the greeting, AUTH with the password.
void append_greeting(Stream& stream, const Command& command, const RedisAddress& address);

// Why this reply to `command` of the greeting makes the connection useless; nullopt: go on.
std::optional<std::string> refusal(const Command& command, const Reply& reply);

// Throws a ConnectionLost of Loss::login_refused for a refusal that only an operator can end, else ConnectionLost.
[[noreturn]] void throw_refusal(const std::string& why);

}  // namespace brood
