#pragma once

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "shared/redis/async_connection.hpp"
#include "shared/store/script.hpp"

namespace brood {

// Sends scripts by their SHA, and those that this Redis does not know once more by their text, with the same arguments.
// The callback gets one result each, in order, once all are in.
void send_scripts(AsyncConnection& redis, std::vector<ScriptCall> calls, std::chrono::milliseconds deadline,
                  std::function<void(std::vector<AsyncConnection::Result>)> callback);

inline void send_scripts(AsyncConnection::Scope& redis, std::vector<ScriptCall> calls,
                         std::chrono::milliseconds deadline,
                         std::function<void(std::vector<AsyncConnection::Result>)> callback) {
  send_scripts(redis.connection(), std::move(calls), deadline, redis.guard(std::move(callback)));
}

}  // namespace brood
