#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// Who may hold jobs in flight, and what they hold, as Redis has it.
struct InFlightHolder {
  struct List {
    std::string key, field, queue;
    bool has_field = false;  // an incarnation owns it; else anybody may give it back
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

// Of every identity in brood:processes, by name: in three round trips.
std::vector<InFlightHolder> in_flight_census(Connection& redis);

// Of these alone, whether they are in brood:processes or not, without what their records say.
std::vector<InFlightHolder> in_flight_of(Connection& redis, const std::vector<std::string>& identities);

// The same, and other holders of jobs in flight, found by the names of all keys: slow where there are many keys.
std::vector<InFlightHolder> thorough_in_flight_census(Connection& redis);

}  // namespace brood
