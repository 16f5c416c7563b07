#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/keyspace.hpp"

// Where releases 7 and 8 keep how often and how long classes ran (specification, section 5.7).  A name without a
// release is release 8's.
namespace brood::keys {

RedisKey metrics_of_minute(WallTime t);       // j|250214|8:03
RedisKey metrics_of_ten_minutes(WallTime t);  // j|250214|8:0
RedisKey histogram_of_minute(std::string_view job_class, WallTime t);

RedisKey metrics_of_minute_in_7(WallTime t);  // j|20250214|8:3
RedisKey histogram_of_minute_in_7(std::string_view job_class, WallTime t);

}  // namespace brood::keys
