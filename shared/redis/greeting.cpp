#include "shared/redis/greeting.hpp"

#include <fmt/format.h>

#include "shared/redis/connection.hpp"
#include "shared/redis/password_file.hpp"
#include "shared/redis/stream.hpp"

namespace brood {

std::vector<Command> greeting(const RedisAddress& address, const std::string& client_name) {
  std::vector<Command> commands;
  if (!address.user.empty())
    commands.push_back({"AUTH", address.user});
  else if (!address.password.empty())
    commands.push_back({"AUTH"});
  if (address.db != 0) commands.push_back({"SELECT", std::to_string(address.db)});
  if (!client_name.empty()) commands.push_back({"CLIENT", "SETNAME", client_name});
  return commands;
}

void append_greeting(Stream& stream, const Command& command, const RedisAddress& address) {
  if (command.args.front() == "AUTH")
    stream.append_secret(command, password_now(address));
  else
    stream.append(command);
}

std::optional<std::string> refusal(const Command& command, const Reply& reply) {
  if (!reply.view().is_error()) return std::nullopt;
  const std::string_view error = reply.view().error();
  // The name only serves CLIENT LIST, and an ACL or an old proxy may forbid it: go on without.  But a server that is
  // full, or requires a password, refuses whichever command comes first.
  const bool courtesy = command.args.front() == "CLIENT";
  const ErrorKind kind = classify_error(error);
  const bool unusable =
      kind == ErrorKind::not_applied_reconnect || (kind == ErrorKind::unauthorized && !error.starts_with("NOPERM"));
  if (courtesy && !unusable) return std::nullopt;
  return std::string(error);
}

void throw_refusal(const std::string& why) {
  const ErrorKind kind = classify_error(why);
  if (kind == ErrorKind::unauthorized || kind == ErrorKind::other) throw ConnectionLost(Loss::login_refused, why);
  throw ConnectionLost(why);
}

}  // namespace brood
