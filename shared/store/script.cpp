#include "shared/store/script.hpp"

namespace brood {
namespace {

Command command(std::string_view verb, std::string_view script, const ScriptCall& call) {
  Command command{verb, script, std::to_string(call.keys.size())};
  command.args.insert(command.args.end(), call.keys.begin(), call.keys.end());
  command.args.insert(command.args.end(), call.args.begin(), call.args.end());
  return command;
}

}  // namespace

Command ScriptCall::evalsha() const { return command("EVALSHA", script->sha, *this); }

Command ScriptCall::eval() const { return command("EVAL", script->text, *this); }

Reply send(Channel& redis, const ScriptCall& call) {
  Reply reply = redis.call(call.evalsha());
  // The same bytes but for the script's name, so that whichever of the two arrives twice is recognised by its number.
  if (classify_error(reply.view().error()) == ErrorKind::no_script) return redis.call(call.eval());
  return reply;
}

}  // namespace brood
