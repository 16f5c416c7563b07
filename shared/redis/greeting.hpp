#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// What we say first on a new connection: AUTH, SELECT, CLIENT SETNAME, each only if there is something to say.
std::vector<Command> greeting(const RedisAddress& address, const std::string& client_name);

// Why the connection cannot be used when `command` of the greeting was answered so; nullopt: go on.
std::optional<std::string> refusal(const Command& command, const Reply& reply);

// Throws LoginRefused for a refusal that only an operator can end, else ConnectionLost.
[[noreturn]] void throw_refusal(const std::string& why);

}  // namespace brood
