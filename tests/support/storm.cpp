#include "tests/support/storm.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/fleet_view.hpp"

namespace brood {

using namespace std::chrono_literals;

int storm_factor() {
  const char* wanted = std::getenv("BROOD_STORM");
  return wanted == nullptr ? 1 : std::max(std::atoi(wanted), 1);
}

void Load::push(int count) {
  std::vector<std::string> payloads;
  for (int i = 0; i < count; ++i, ++jobs)
    payloads.push_back(payload_text(
        "Ledger", "[\"" + ledger.path() + "\",\"" + std::to_string(jobs) + "\"," + std::to_string(milliseconds) + "]",
        jobs + 1));
  enqueue(redis, payloads, queue);
}

void Load::keep_up() {
  constexpr int at_a_time = 2'000;
  if (redis.size_of("queue:" + queue) < at_a_time / 2) push(at_a_time);
}

bool drained(RedisServer& redis) {
  const auto empty = [&] {
    make_retries_due(redis);
    return no_job_is_left(redis);
  };
  return eventually(empty, 120s);
}

std::vector<std::string> settled_twice(const Ledger& ledger, const std::set<pid_t>& killed) {
  std::map<pid_t, std::vector<Ledger::Run>> by_worker;
  for (const Ledger::Run& run : ledger.runs()) by_worker[run.pid].push_back(run);
  std::map<std::string, int> settled;
  for (const auto& [pid, own] : by_worker) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool excused = killed.contains(pid) && i + 1 == own.size();
      settled[own[i].id] += own[i].ended && !excused;
    }
  }
  std::vector<std::string> twice;
  for (const auto& [id, times] : settled) {
    if (times > 1) twice.push_back(id);
  }
  return twice;
}

}  // namespace brood
