#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// A process that may hold jobs in flight, and what it holds according to Redis.
struct InFlightHolder {
  struct List {
    std::string key, field, queue;
    bool has_field = false;  // an incarnation owns it; else it may be given back
    std::int64_t jobs = 0;
    std::optional<WallTime> enqueued_at = {};  // of its oldest job
  };
  std::string name;                  // the identity
  std::optional<Identity> identity;  // nullopt: no record of it, or one that cannot be read
  bool has_heartbeat = false;
  std::string beat_token = {};  // of its heartbeat; empty: none
  std::vector<List> lists;      // those that hold something

  std::int64_t jobs() const;
};

// Reads every identity in brood:processes, ordered by name, in three round trips.
std::vector<InFlightHolder> in_flight_census(Connection& redis);

// Reads only these identities, whether or not they are in brood:processes, without their records.
std::vector<InFlightHolder> in_flight_of(Connection& redis, const std::vector<std::string>& identities);

// As in_flight_census(), and also finds holders by the names of all keys: slow where there are many keys.
std::vector<InFlightHolder> thorough_in_flight_census(Connection& redis);

}  // namespace brood
