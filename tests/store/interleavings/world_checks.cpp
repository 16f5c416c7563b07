#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/keys.hpp"
#include "tests/store/interleavings/world.hpp"
#include "tests/support/all_entries.hpp"

namespace brood::interleavings {
namespace {

std::map<std::string, std::vector<std::pair<std::string, std::string>>> places(Channel& redis) {
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> found;  // job -> keys and payloads
  for (const auto& [key, payload] : all_entries(redis)) found[job_of(payload)].emplace_back(key, payload);
  return found;
}

constexpr std::string_view locks_and_holders = R"lua(
local found = {}
for _, key in ipairs(redis.call("KEYS", ARGV[1])) do
  found[#found + 1] = key
  found[#found + 1] = redis.call("GET", key)
end
return found
)lua";

}  // namespace

// Law 3: a job is always in exactly one place, or done.
void World::check_places() {
  const auto found = places(redis_);
  for (const auto& [job, at] : found) {
    if (!home_.contains(job)) fault(fmt::format("{} was flushed and is back in {}", job, at.front().first));
  }
  for (const auto& [job, home] : home_) {
    const auto at = found.find(job);
    const bool done = ends_.contains(job);
    if (at == found.end()) {
      if (!done) fault(job + " is lost");
      continue;
    }
    if (at->second.size() > 1) {
      fault(fmt::format("{} is in two places: {} and {}", job, at->second[0].first, at->second[1].first));
    }
    const bool in_flight = at->second[0].first.starts_with("brood:inflight:");
    if (done && !in_flight && !may_run_twice_.contains(job)) {
      fault(fmt::format("{} is done and waits in {} to be done again", job, at->second[0].first));
    }
  }
  check_locks();
}

// A lock is held from the push of its job to the end of that, be it success or death, and not a moment longer or less.
void World::check_locks() {
  const Reply reply = redis_.call({"EVAL", locks_and_holders, "0", keys::unique_lock("*")});
  std::map<std::string, std::string> holders;
  for (std::size_t i = 0; i + 1 < reply.view().size(); i += 2)
    holders.emplace(reply.view()[i].text(), reply.view()[i + 1].text());
  std::set<std::string> living;
  for (const auto& [key, payload] : all_entries(redis_)) {
    if (key != keys::dead.name()) living.insert(job_of(payload));
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

void World::check_nothing_is_held() {
  if (lost_fields_) let_go_of_stray_locks(redis_, [](const RunningHolder&) { return false; });
  for (const RedisKey& pattern : {keys::unique_lock("*"), keys::running_lock("*")}) {
    const Reply left = redis_.call({"EVAL", locks_and_holders, "0", pattern});
    for (std::size_t i = 0; i + 1 < left.view().size(); i += 2)
      fault(fmt::format("{} is held by {} when all is over", left.view()[i].text(), left.view()[i + 1].text()));
  }
}

// A payload that a worker or a set holds says how often it was charged; the books say how often it deserved it.
void World::check_charges(const std::string& payload) {
  const std::string job = job_of(payload);
  if (may_run_twice_.contains(job) || charge_unknown_.contains(job)) return;
  const int charged = charges_of(payload);
  if (charged != deserved_[job])
    fault(fmt::format("{} was charged {} times for {} bad ends", job, charged, deserved_[job]));
}

bool World::every_job_has_ended() {
  for (const auto& [job, at] : places(redis_)) {
    for (const auto& [key, payload] : at) {
      if (key != keys::dead.name()) return false;
    }
  }
  return true;
}

// The network falls silent, the workers leave in order, and what strangers left is swept up.
void World::finish() {
  for (auto& worker : workers_) worker->told_to_retire = true;
  auto unfinished = [this] {
    for (auto& worker : workers_) {
      if (!worker->actor->done()) return true;
    }
    return !recoveries_.empty();
  };
  for (int i = 0; i < 5'000 && unfinished(); ++i) {
    network_.deliver_one(random_);
    for (auto& worker : workers_) {
      if (!worker->channel->waits_for_redis()) worker->actor->resume();
    }
    for (auto& recovery : recoveries_) {
      if (!recovery->channel->waits_for_redis()) recovery->actor->resume();
    }
    std::erase_if(recoveries_, [](const auto& recovery) { return recovery->actor->done(); });
  }
  if (unfinished()) fault("a worker or a recovery never ends");
  while (network_.deliver_one(random_)) {
  }
  for (const auto& worker : workers_) {
    if (!worker->actor->error().empty()) fault("a worker died of " + worker->actor->error());
  }

  // A registration that arrived after its worker's end left a field that no slot names.
  const Reply fields = redis_.call({"HKEYS", keys::in_flight_hash(identity)});
  for (std::size_t i = 0; i < fields.view().size(); ++i) {
    const std::string field(fields.view()[i].text());
    const std::size_t dot = field.find('.');
    const DeadWorker ghost{identity, std::stoi(field.substr(0, dot)), std::stoull(field.substr(dot + 1)), std::nullopt,
                           false};
    const auto untouched = [](const std::string& payload, const std::string&) {
      return Outcome{Outcome::Kind::requeue_head, payload, 0};
    };
    const RecoveryResult result = recover(redis_, ghost, DeadLimits{}, untouched, untouched);
    if (result.given_back > 0) fault(fmt::format("{} held jobs that nobody knew of", field));
  }
  if (const int strays = give_back_lists_without_field(redis_, [](const InFlightList&) { return false; }); strays > 0) {
    fault(fmt::format("{} jobs were in lists without a field", strays));
  }
  // With the last field the reason to remove the identity was lost: that is left to whoever settles its jobs.
  if (!lost_fields_ && redis_.call({"HEXISTS", keys::brood_processes, identity}).view().integer() != 0) {
    fault("the identity is still registered, though it owns nothing");
  }
  check_places();
  check_nothing_is_held();
  for (const auto& [job, at] : places(redis_)) {
    for (const auto& [key, payload] : at) check_charges(payload);
  }
}

}  // namespace brood::interleavings
