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

// Work for the workers while things happen to them: Ledger jobs, as many as are asked for.
struct Load {
  RedisServer& redis;
  const std::string queue = "default";
  const int milliseconds = 1;  // that each takes
  const TemporaryDirectory directory{};
  const Ledger ledger{directory / "ledger"};
  int jobs = 0;  // pushed so far; their ids are 0 .. jobs-1

  void push(int count);
  void keep_up();  // pushes 2,000 more when fewer than 1,000 are left in the queue
};

// Waits, up to two minutes, until the default queue, `retry` and all in-flight lists are empty; makes retries due
// meanwhile.  False when they do not become empty.
bool drained(RedisServer& redis);

// The jobs of which two runs came to their end and count.  The last run of a killed worker does not count: the worker
// may have died before it had noted that end.
std::vector<std::string> settled_twice(const Ledger& ledger, const std::set<pid_t>& killed);

}  // namespace brood
