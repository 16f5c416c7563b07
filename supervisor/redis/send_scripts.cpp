#include "supervisor/redis/send_scripts.hpp"

#include <utility>

namespace brood {

void send_scripts(AsyncConnection& redis, std::vector<ScriptCall> calls, std::chrono::milliseconds deadline,
                  std::function<void(std::vector<AsyncConnection::Result>)> callback) {
  using Results = std::vector<AsyncConnection::Result>;
  std::vector<Command> by_sha;
  for (const ScriptCall& call : calls) by_sha.push_back(call.evalsha());

  redis.send_all(by_sha, deadline, [&redis, deadline, calls = std::move(calls), callback](Results results) {
    std::vector<Command> by_text;
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!results[i].error.empty()) continue;
      if (classify_error(results[i].reply.view().error()) != ErrorKind::no_script) continue;
      unknown.push_back(i);
      by_text.push_back(calls[i].eval());
    }
    if (unknown.empty()) return callback(std::move(results));
    // std::function wants to be copied, which replies cannot be.
    const auto known = std::make_shared<Results>(std::move(results));
    redis.send_all(by_text, deadline, [known, unknown, callback](Results late) {
      for (std::size_t i = 0; i < unknown.size(); ++i) (*known)[unknown[i]] = std::move(late[i]);
      callback(std::move(*known));
    });
  });
}

}  // namespace brood
