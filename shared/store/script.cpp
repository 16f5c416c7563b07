#include "shared/store/script.hpp"

#include <algorithm>
#include <iterator>

namespace brood {
namespace {

Command command(std::string_view verb, std::string_view script, const ScriptCall& call) {
  Command command{verb, script, std::to_string(call.keys.size())};
  command.guarded_sha = call.script->guarded_sha;
  for (const RedisKey& key : call.keys) command.add(key);
  command.args.insert(command.args.end(), call.args.begin(), call.args.end());
  return command;
}

}  // namespace

Command ScriptCall::evalsha() const& { return command("EVALSHA", script->sha, *this); }

Command ScriptCall::evalsha() && {
  Command command{"EVALSHA", script->sha, std::to_string(keys.size())};
  command.guarded_sha = script->guarded_sha;
  command.args.reserve(command.args.size() + keys.size() + args.size());
  command.keys = {static_cast<std::uint32_t>(command.args.size()), static_cast<std::uint32_t>(keys.size())};
  for (RedisKey& key : keys) command.args.push_back(std::move(key).name());
  std::move(args.begin(), args.end(), std::back_inserter(command.args));
  return command;
}

Command ScriptCall::eval() const { return command("EVAL", script->text, *this); }

void send_text_instead(Command& by_sha, const Script& script) {
  by_sha.args[0] = "EVAL";
  by_sha.args[1] = script.text;
}

Reply send(Channel& redis, const ScriptCall& call) {
  Reply reply = redis.call(call.evalsha());
  // Keys and arguments are the same: if both commands arrive, the script recognises the second by its number.
  if (classify_error(reply.view().error()) == ErrorKind::no_script) return redis.call(call.eval());
  return reply;
}

}  // namespace brood
