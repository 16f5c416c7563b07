#pragma once

#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/ledger.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// How many times as long as usual the storms are to be: BROOD_STORM in the environment, else 1.
int storm_factor();

// What workers are to have while things happen to them: Ledger jobs, without end as long as somebody asks.
struct Load {
  RedisServer& redis;
  const std::string queue = "default";
  const int milliseconds = 1;  // that each takes
  const TemporaryDirectory directory{};
  const Ledger ledger{directory / "ledger"};
  int jobs = 0;  // pushed so far; their ids are 0 .. jobs-1

  void push(int count);
  void keep_up();  // pushes some more when half of the last ones have run
};

// Every queue, retry and in-flight list has become empty; retries do not wait for their time.
bool drained(RedisServer& redis);

// The jobs of which two runs came to their end and counted.  One does not: the last of a killed worker, which may have
// died before it had noted that end.
std::vector<std::string> settled_twice(const Ledger& ledger, const std::set<pid_t>& killed);

}  // namespace brood
