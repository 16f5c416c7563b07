#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/ledger.hpp"
#include "tests/support/redis_server.hpp"

namespace brood {

// Where every job of a Redis is at one instant: queues, in-flight lists, `schedule`, `retry` and `dead`.  One script
// reads them.  Only for jobs with jids as payload_text() writes them.
class Census {
 public:
  explicit Census(RedisServer& redis);

  // The keys that hold the job; a key that holds it twice is listed twice.
  const std::vector<std::string>& places_of(long number) const;

  // Names each Ledger job with an id of 0 .. count-1 that is in two places, or in none although it is not done; "" if
  // all are where they should be.  Reads the ledger after the places: a job is done before it leaves its last place.
  // Call it before anything else is enqueued.
  std::string misplaced(const Ledger& ledger, int count) const;

 private:
  std::map<long, std::vector<std::string>> places_;  // by the number in the jid
};

}  // namespace brood
