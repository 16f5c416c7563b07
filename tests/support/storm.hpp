#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/brood_process.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// The factor by which storms are longer than usual: BROOD_STORM in the environment, else 1.
int storm_factor();

// Keeps workers busy with Ledger jobs while a test interferes with them.
struct Load {
  RedisServer& redis;
  const std::string queue = "default";
  const int milliseconds = 1;  // that each job takes
  const TemporaryDirectory directory{};
  const Ledger ledger{directory / "ledger"};
  int jobs = 0;  // pushed so far; their ids are 0 .. jobs-1

  void push(int count);
  void keep_up();  // pushes 2,000 more when fewer than 1,000 are left in the queue
};

// Waits until `count` returns at most `wanted`, however long that takes.  Returns false if its lowest value has not
// fallen for two minutes.
bool falls_to(std::size_t wanted, const std::function<std::size_t()>& count);

// Waits, as falls_to(), until the default queue, `retry`, the schedule and all in-flight lists are empty; makes retries
// due meanwhile.
bool drained(RedisServer& redis);

// Waits, as falls_to(), until the default queue has no more than `left` jobs.
bool queue_falls_to(RedisServer& redis, std::size_t left);

// Workers that a test has killed, with their start times, since pids are reused.
using KilledWorkers = std::map<pid_t, std::uint64_t>;

// Kills a random worker that is not in `killed`, and adds it.  Returns false if there is none for ten seconds.
bool kill_a_worker(const BroodProcess& brood, Dice& dice, KilledWorkers& killed);

// Orders a supervisor to stop as soon as it is up: before that it has no handler for SIGTERM.  The last supervisor of a
// storm may have been started a moment ago, while another finished the work.  Returns its exit status; -1 if it does
// not come up or does not end.
int stop_when_up(BroodProcess& brood);

// The jobs of which two runs were completed and count.  The last run of a killed worker does not count: the worker may
// have died before it had noted that end.
std::vector<std::string> settled_twice(const Ledger& ledger, const KilledWorkers& killed);

}  // namespace brood
