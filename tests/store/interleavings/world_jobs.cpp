// How jobs come, and are repeated; see world.hpp.

#include <fmt/format.h>

#include "shared/store/keys.hpp"
#include "shared/store/sets/due_jobs.hpp"
#include "tests/store/interleavings/payloads.hpp"
#include "tests/store/interleavings/world.hpp"

namespace brood::interleavings {
namespace {

constexpr int jobs = 36;

// One of the jobs in `dead`; empty if there is none.
std::string some_dead(Channel& redis, std::uint64_t dice) {
  const Reply dead = redis.call({"ZRANGE", keys::dead, "0", "-1"});
  const std::size_t count = dead.view().size();
  return count == 0 ? "" : std::string(dead.view()[dice % count].text());
}

}  // namespace

// Pushes to all shards if `to` is null.
void World::push_jobs(Shard* to) {
  for (int i = 0; i < jobs; ++i) {
    Shard& at = to ? *to : any_shard();
    const std::string job = fmt::format("J{}", pushed_++);
    home_[job] = {at.number, home_queues()[random_() % home_queues().size()]};
    std::string payload = job + "#0";
    if (i % 4 == 0) {  // a unique job
      payload = unique_job(job, "of-" + job);
      unique_["of-" + job] = job;
      at.redis.call({"SET", keys::unique_lock("of-" + job), job});
    } else if (i % 4 == 1) {  // only one runs at a time
      payload = one_at_a_time(job, fmt::format("{}-{}", i % 3 == 0 ? "one" : "other", at.number));
    }
    if (has_caps_ && i % 4 == 2) payload = capped_job(job);
    if (has_sequences_ && i % 4 == 3) {
      const std::string sequence = fmt::format("s{}", at.number);
      home_[job].queue = queue_of_sequences;
      payload = job_in_sequence(job, sequence, queue_of_sequences);
      in_order_[sequence].push_back(job);
    }
    at.redis.call({"LPUSH", keys::queue(home_[job].queue), payload});
  }
}

void World::move_due_jobs(Shard& at) {
  const Reply due = at.redis.call({"ZRANGEBYSCORE", keys::retry, "-inf", "5", "WITHSCORES", "LIMIT", "0", "4"});
  std::vector<DueJob> moves;
  for (std::size_t i = 0; i + 1 < due.view().size(); i += 2) {
    const std::string_view member = due.view()[i].text();
    const std::string& queue = home_[job_of(std::string(member))].queue;
    moves.push_back({member, due.view()[i + 1].text(), queue, std::string(member)});
  }
  if (moves.empty()) return;
  coverage_.due_moved += static_cast<long>(moves.size());
  const ScriptCall call = move_due(keys::retry.name(), std::move(moves));
  if (chance(0.9)) at.network.post(call.command());
  if (chance(0.1)) at.network.post(call.command());
}

void World::reschedule_a_retry(Shard& at) {
  if (full_redis_ || refuses_) return;
  const Reply first = at.redis.call({"ZRANGE", keys::retry, "0", "0"});
  if (first.view().size() == 0) return;
  at.redis.call({"ZADD", keys::retry, "XX", std::to_string(2 + random_() % 3), first.view()[0].text()});
}

// The job that was pushed with this lock has died, so the lock is free again.
void World::push_a_twin(Shard& at) {
  if (full_redis_ || refuses_) return;
  const std::string lock = member_of(some_dead(at.redis, random_()), "unique_lock");
  if (lock.empty()) return;
  check_locks(all_places());
  const std::string twin = fmt::format("J{}", pushed_), home = home_queues()[random_() % home_queues().size()];
  const Reply pushed = at.redis.call({"EVAL",
                                      "if not redis.call('SET', KEYS[1], ARGV[1], 'NX') then return 0 end return "
                                      "redis.call('LPUSH', KEYS[2], ARGV[2])",
                                      "2", keys::unique_lock(lock), keys::queue(home), twin, unique_job(twin, lock)});
  if (pushed.view().integer() == 0) return;
  ++pushed_;
  ++coverage_.twins;
  note(twin + " is pushed under the lock " + lock);
  home_[twin] = {at.number, home};
  unique_[lock] = twin;
}

// A tool that does not know locks runs a dead job once more.
void World::raise_a_dead(Shard& at) {
  if (full_redis_ || refuses_) return;
  const std::string payload = some_dead(at.redis, random_());
  if (payload.empty() || !member_of(payload, "sequence").empty()) return;
  check_locks(all_places());  // also notes which jobs have ended
  ++coverage_.raised;
  note(payload + " is raised from the dead");
  at.redis.call({"ZREM", keys::dead, payload});
  at.redis.call({"LPUSH", keys::queue(home_[job_of(payload)].queue), payload});
}

}  // namespace brood::interleavings
