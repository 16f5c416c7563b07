#include "shared/redis/script_call.hpp"

#include <iterator>
#include <utility>

namespace brood {

Command ScriptCall::command() const& { return ScriptCall(*this).command(); }

Command ScriptCall::command() && {
  Command command{"EVALSHA", script->sha, std::to_string(keys.size())};
  command.script = script;
  command.args.reserve(command.args.size() + keys.size() + args.size());
  command.keys = {static_cast<std::uint32_t>(command.args.size()), static_cast<std::uint32_t>(keys.size())};
  for (RedisKey& key : keys) command.args.push_back(std::move(key).name());
  std::move(args.begin(), args.end(), std::back_inserter(command.args));
  return command;
}

Command by_text(Command by_sha) {
  by_sha.args[0] = "EVAL";
  by_sha.args[1] = by_sha.script->text;
  return by_sha;
}

bool is_unknown_script(const Command& command, ReplyView reply) {
  return command.script != nullptr && command.args.front() == "EVALSHA" &&
         classify_error(reply.error()) == ErrorKind::no_script;
}

std::vector<std::size_t> places_of_unknown_scripts(std::span<const Command> commands, std::span<const Reply> replies) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const bool confirms_one = !places.empty() && commands[i].args.front() == "WAIT";
    if (confirms_one || is_unknown_script(commands[i], replies[i].view())) places.push_back(i);
  }
  return places;
}

}  // namespace brood
