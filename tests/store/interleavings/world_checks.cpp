#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/sequences/sequences.hpp"
#include "shared/store/worker_field.hpp"
#include "tests/store/interleavings/payloads.hpp"
#include "tests/store/interleavings/world.hpp"
#include "tests/support/all_entries.hpp"

namespace brood::interleavings {
namespace {

constexpr std::string_view locks_and_holders = R"lua(
local found = {}
for _, key in ipairs(redis.call("KEYS", ARGV[1])) do
  found[#found + 1] = key
  found[#found + 1] = redis.call("GET", key)
end
return found
)lua";

std::map<std::string, std::string> locks_of(Channel& redis, const RedisKey& pattern) {
  const Reply reply = redis.call({"EVAL", locks_and_holders, "0", pattern});
  std::map<std::string, std::string> holders;
  for (std::size_t i = 0; i + 1 < reply.view().size(); i += 2)
    holders.emplace(reply.view()[i].text(), reply.view()[i + 1].text());
  return holders;
}

}  // namespace

std::vector<World::Place> World::all_places() {
  std::vector<Place> places;
  for (const auto& one : shards_) {
    for (Entry& entry : all_entries(one->redis)) {
      if (entry.key.starts_with(keys::tenants("").name()) || entry.key.starts_with(keys::tenants_away("").name()))
        continue;
      places.push_back({one->number, std::move(entry.key), std::move(entry.payload)});
    }
  }
  return places;
}

// Law 3: a job is always in exactly one place, or done.  And it never leaves its shard.
bool World::check_places() {
  const std::vector<Place> places = all_places();
  const auto name = [](const Place& place) { return fmt::format("{} of shard {}", place.key, place.shard); };
  std::map<std::string, std::vector<const Place*>> found;
  for (const Place& place : places) found[job_of(place.payload)].push_back(&place);
  for (const auto& [job, at] : found) {
    const auto home = home_.find(job);
    if (home == home_.end())
      fault(fmt::format("{} was flushed and is back in {}", job, name(*at.front())));
    else if (home->second.shard != at.front()->shard)
      fault(fmt::format("{} is of shard {} and in {}", job, home->second.shard, name(*at.front())));
  }
  for (const auto& [job, home] : home_) {
    const auto at = found.find(job);
    const bool done = ends_.contains(job);
    if (at == found.end()) {
      if (!done) fault(job + " is lost");
      continue;
    }
    const Place& first = *at->second.front();
    if (at->second.size() > 1)
      fault(fmt::format("{} is in two places: {} and {}", job, name(first), name(*at->second[1])));
    if (done && !first.key.starts_with("brood:inflight:") && !may_run_twice_.contains(job))
      fault(fmt::format("{} is done and waits in {} to be done again", job, name(first)));
  }
  check_locks(places);
  check_caps(places);
  if (calm_ && has_sequences_) pass_sequences_on(places);
  return std::ranges::all_of(places, [](const Place& place) { return place.key == keys::dead.name(); });
}

// A lock is held exactly from the push of its job to the job's end, by success or death.
void World::check_locks(const std::vector<Place>& places) {
  std::map<std::string, std::string> holders;
  for (const auto& one : shards_) holders.merge(locks_of(one->redis, keys::unique_lock("*")));
  std::set<std::string> living;
  for (const Place& place : places) {
    if (place.key != keys::dead.name()) living.insert(job_of(place.payload));
  }
  for (auto it = unique_.begin(); it != unique_.end();) {
    const auto& [lock, job] = *it;
    const auto holder = holders.find(keys::unique_lock(lock).name());
    const bool held = holder != holders.end() && holder->second == job;
    if (held != living.contains(job))
      fault(fmt::format("the lock {} of {} is {}", lock, job, held ? "held after its end" : "let go before its end"));
    it = living.contains(job) ? std::next(it) : unique_.erase(it);
  }
  for (const auto& [key, job] : holders) {
    if (!living.contains(job)) fault(fmt::format("{} is held by {}, which has ended", key, job));
  }
}

// Does what the supervisor's watch does if a command was refused when a holder ended.
void World::pass_sequences_on(const std::vector<Place>& places) {
  std::set<std::string> living;
  for (const Place& place : places) {
    if (place.key != keys::dead.name()) living.insert(job_of(place.payload));
  }
  for (const auto& one : shards_) {
    for_each_sequence(one->redis, [&](const SequenceState& sequence) {
      if (!living.contains(sequence.holder)) one->redis.run(pass_sequence_on(sequence));
    });
  }
}

void World::check_nothing_is_held() {
  for (const auto& one : shards_) {
    if (lost_fields_) let_go_of_stray_locks(one->redis, [](const RunningHolder&) { return false; });
    if (one->redis.call({"EXISTS", keys::brood_sequences}).view().integer() != 0)
      fault(fmt::format("a sequence is held in shard {} when all is over", one->number));
    for (const RedisKey& pattern : {keys::unique_lock("*"), keys::running_lock("*")}) {
      for (const auto& [key, holder] : locks_of(one->redis, pattern))
        fault(fmt::format("{} is held by {} when all is over", key, holder));
    }
  }
}

// A payload held by a worker or a set shows how often it was charged.  The books show how often it should be.
void World::check_charges(const std::string& payload) {
  const std::string job = job_of(payload);
  if (may_run_twice_.contains(job) || charge_unknown_.contains(job)) return;
  const int charged = charges_of(payload);
  if (charged != deserved_[job])
    fault(fmt::format("{} was charged {} times for {} bad ends", job, charged, deserved_[job]));
}

// The network falls silent, the workers leave in order, and what other supervisors left is swept up.
void World::finish() {
  let_all_leave();
  for (const auto& one : shards_) {
    look_for_ghosts(*one);
    // If the last field was lost, the identity stays registered until the process that settles its jobs removes it.
    if (!lost_fields_ && one->redis.call({"HEXISTS", keys::brood_processes, identity}).view().integer() != 0)
      fault(fmt::format("the identity is still registered in shard {}, though it owns nothing", one->number));
  }
  check_places();
  check_nothing_is_held();
  for (const auto& one : shards_) {
    for (const Place& place : all_places()) {
      if (place.shard == one->number) check_charges(place.payload);
    }
  }
}

void World::let_all_leave() {
  for (auto& worker : workers_) {
    worker->wanted = worker->shard;
    worker->told_to_retire = true;
  }
  const auto unfinished = [this] {
    return !recoveries_.empty() || std::ranges::any_of(workers_, [](const auto& one) { return !one->actor->done(); });
  };
  for (int i = 0; i < 5'000 && unfinished(); ++i) {
    deliver_one();
    for (auto& worker : workers_) {
      if (!worker->channel->now().waits_for_redis()) worker->actor->resume();
    }
    for (auto& recovery : recoveries_) {
      if (!recovery->channel->waits_for_redis()) recovery->actor->resume();
    }
    std::erase_if(recoveries_, [](const auto& recovery) { return recovery->actor->done(); });
  }
  if (unfinished()) fault("a worker or a recovery never ends");
  while (deliver_one()) {
  }
  for (const auto& worker : workers_) {
    if (!worker->actor->error().empty()) fault("a worker died of " + worker->actor->error());
  }
}

// A registration that arrived after its worker's end has left a field that no slot names.
void World::look_for_ghosts(Shard& at) {
  const auto untouched = [](const std::string& payload, const std::string&) {
    return Outcome{Outcome::Kind::requeue_head, payload, 0};
  };
  const Reply fields = at.redis.call({"HKEYS", keys::in_flight_hash(identity)});
  for (std::size_t i = 0; i < fields.view().size(); ++i) {
    const std::string field(fields.view()[i].text());
    const auto parsed = parse_worker_field(field);
    if (!parsed) continue;
    const DeadWorker ghost{identity, parsed->slot, parsed->incarnation, std::nullopt, false};
    if (recover(at.redis, ghost, DeadLimits{}, untouched, untouched).given_back > 0)
      fault(fmt::format("{} held jobs that nobody knew of", field));
  }
  if (const int strays = give_back_lists_without_field(at.redis, [](const InFlightList&) { return false; }); strays > 0)
    fault(fmt::format("{} jobs were in lists without a field", strays));
}

}  // namespace brood::interleavings
