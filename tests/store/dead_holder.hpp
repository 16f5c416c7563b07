#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/redis_server.hpp"

namespace brood::holding {

using Strings = std::vector<std::string>;

inline const std::string identity = "host:1:0123456789ab";
inline const std::string field = "2.17";
inline const std::string hash = keys::in_flight_hash(identity).name();
inline const std::string list = keys::in_flight_list(identity, field, "a").name();

inline Outcome charge(const std::string& payload, const std::string& queue) {
  return {Outcome::Kind::retry, payload + " charged from " + queue, 5};
}
inline Outcome orphan(const std::string& payload, const std::string&) {
  return {Outcome::Kind::move_to_dead, payload + " orphaned", 4e9};
}

// A worker that held `payloads` of queue a at number 1 when it died.
struct DeadHolder {
  RedisServer server;
  Connection redis{server.address()};
  DeadWorker dead{identity, 2, 17, std::nullopt, false};

  explicit DeadHolder(const Strings& payloads, std::optional<DeadWorker::Record> record = std::nullopt) {
    dead.record = std::move(record);
    die_with(payloads);
  }
  void die_with(const Strings& payloads) {
    redis.run(register_incarnation(identity, "{}", field));
    redis.call({"HSET", hash, field, "1 a"});
    redis.call({"DEL", list});
    for (const std::string& payload : payloads) redis.call({"LPUSH", list, payload});
  }
  RecoveryResult recover() { return brood::recover(redis, dead, DeadLimits{}, charge, orphan); }
  Strings waiting() { return server.lrange("queue:a"); }
  std::string type_of_list() { return std::string(redis.call({"TYPE", list}).view().text()); }
};

inline DeadWorker::Record at_number_1(std::vector<EntryState> entries) { return {1, std::move(entries)}; }

}  // namespace brood::holding
