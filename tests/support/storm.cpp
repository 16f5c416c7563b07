#include "tests/support/storm.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "shared/base/identity.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
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

bool falls_to(std::size_t wanted, const std::function<std::size_t()>& count) {
  constexpr auto longest_without_progress = 120s;
  std::size_t fewest = count();
  while (fewest > wanted) {
    std::size_t now = fewest;
    if (!eventually([&] { return (now = count()) < fewest; }, longest_without_progress)) return false;
    fewest = now;
  }
  return true;
}

bool drained(RedisServer& redis) {
  return falls_to(0, [&] {
    make_retries_due(redis);
    return jobs_left(redis);
  });
}

bool queue_falls_to(RedisServer& redis, std::size_t left) {
  return falls_to(left, [&] { return redis.size_of("queue:default"); });
}

bool kill_a_worker(const BroodProcess& brood, Dice& dice, KilledWorkers& killed) {
  return eventually([&] {
    std::vector<pid_t> running = brood.workers();
    std::erase_if(running, [&](pid_t pid) {
      const auto known = killed.find(pid);
      return known != killed.end() && known->second == process_start_time(pid);
    });
    if (running.empty()) return false;
    const pid_t victim = running[static_cast<std::size_t>(dice.roll(0, static_cast<int>(running.size()) - 1))];
    const std::uint64_t began = process_start_time(victim);
    if (began == 0 || kill(victim, SIGKILL) != 0) return false;
    killed.insert_or_assign(victim, began);
    return true;
  });
}

int stop_when_up(BroodProcess& brood) {
  if (!brood.wait_ready()) return -1;
  brood.term();
  return brood.wait_exit(60s).value_or(-1);
}

std::vector<std::string> settled_twice(const Ledger& ledger, const KilledWorkers& killed) {
  std::map<std::pair<pid_t, std::uint64_t>, std::vector<Ledger::Run>> by_worker;
  for (const Ledger::Run& run : ledger.runs()) by_worker[{run.pid, run.worker_began}].push_back(run);
  std::map<std::string, int> settled;
  for (const auto& [worker, own] : by_worker) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool excused = killed.contains(worker.first) && i + 1 == own.size();
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
