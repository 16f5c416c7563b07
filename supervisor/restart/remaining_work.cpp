#include "supervisor/restart/remaining_work.hpp"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/store/in_flight/census.hpp"
#include "shared/store/in_flight/lock_list.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/queues/all_queue_names.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/queues/queue_sizes.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sequences/sequences.hpp"
#include "shared/store/sets/job_sets.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr Connection::Timeouts patience{.connect = 2s, .command = 5s};

std::int64_t jobs_in_queues(Connection& redis, const std::vector<std::string>& queues) {
  std::set<std::string> names(queues.begin(), queues.end());
  names.merge(all_queue_names(redis));
  const Reply asides = redis.call(ask_set_aside());
  for (std::string& name : read_name_list(asides.view())) names.insert(std::move(name));
  std::int64_t jobs = 0;
  for (const std::vector<std::string>& slice : slices_to_size({names.begin(), names.end()})) {
    const Reply reply = redis.run(queue_sizes(slice));
    for (const QueueSizes::Filled& queue : read_queue_sizes(slice, reply.view()).filled) jobs += queue.jobs;
  }
  return jobs;
}

std::int64_t size_of_set(Connection& redis, std::string_view set) {
  const Reply reply = redis.call(ask_set_size(set));
  if (!reply.view().is_integer()) throw UnexpectedReply(std::string(reply.view().error()));
  return reply.view().integer();
}

std::int64_t jobs_in_flight(Connection& redis) {
  std::int64_t jobs = 0;
  for (const InFlightHolder& holder : thorough_in_flight_census(redis)) jobs += holder.jobs();
  const auto ask = [&](const std::vector<Command>& commands) { return redis.pipeline(commands); };
  for (const RubyProcess& process : ruby_processes(ask)) {
    const Reply reply = redis.call(ask_process_hash(process.identity));
    if (const auto hash = read_process_hash(reply.view())) jobs += hash->busy;
  }
  return jobs;
}

std::int64_t slots_held(Connection& redis) {
  std::int64_t slots = 0;
  const Reply names = redis.call(ask_limit_names());
  for (const std::string& name : read_name_list(names.view())) {
    const Reply shown = redis.run(show_limit(name));
    if (const auto view = read_limit_view(shown.view())) slots += static_cast<std::int64_t>(view->holders.size());
  }
  return slots;
}

}  // namespace

bool RemainingWork::is_nothing() const {
  return waiting == 0 && scheduled == 0 && retries == 0 && quarantined == 0 && in_flight == 0 && locks == 0 &&
         slots == 0;
}

std::string describe(const RemainingWork& left) {
  std::string text;
  const auto add = [&](std::int64_t count, std::string_view one, std::string_view many) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, count == 1 ? one : many);
  };
  add(left.waiting, "job that waits", "jobs that wait");
  add(left.scheduled, "scheduled job", "scheduled jobs");
  add(left.retries, "job that is to be retried", "jobs that are to be retried");
  add(left.in_flight, "job in flight", "jobs in flight");
  add(left.quarantined, "job in quarantine", "jobs in quarantine");
  add(left.locks, "lock of a unique job", "locks of unique jobs");
  add(left.slots, "slot of a limit", "slots of limits");
  return text;
}

// A job may be moving from one place to another.  So this looks at jobs in flight first and last, and at each other
// place before the places to which its jobs go.
RemainingWork look_for_remaining_work(Connection& redis, const std::vector<std::string>& queues) {
  RemainingWork left;
  left.in_flight = jobs_in_flight(redis);
  left.scheduled = size_of_set(redis, scheduled_set);
  left.retries = size_of_set(redis, retry_set);
  left.waiting = jobs_in_all_lists_of_sequences(redis) + jobs_in_queues(redis, queues);
  left.quarantined = size_of_set(redis, quarantined_set);
  left.locks = static_cast<std::int64_t>(all_locks(redis).size());
  left.slots = slots_held(redis);
  left.dead = size_of_set(redis, dead_set);
  if (left.in_flight == 0) left.in_flight = jobs_in_flight(redis);
  return left;
}

std::string why_not_empty(const std::vector<RedisAddress>& shards, const std::vector<std::string>& queues) {
  std::string why;
  for (const RedisAddress& shard : shards) {
    const auto refuse = [&](const std::string& text) { why += (why.empty() ? "" : "; ") + text; };
    try {
      Connection redis(shard, patience, "brood-check");
      RemainingWork left = look_for_remaining_work(redis, queues);
      if (left.is_nothing()) left = look_for_remaining_work(redis, queues);  // no job evades two looks
      if (!left.is_nothing())
        refuse(
            fmt::format("the shard {} cannot be taken out, for it has {}: drain it first (drain = true), and wait "
                        "until `brood status` says that it is drained{}",
                        shard.shard, describe(left),
                        left.locks > 0 ? "; `brood locks check` lets go of locks whose jobs are gone" : ""));
      else if (left.dead > 0)
        log::warn("dead_jobs_stay",
                  {{"shard", shard.shard}, {"jobs", left.dead}, {"hint", "no process performs them"}});
    } catch (const std::runtime_error& error) {
      refuse(fmt::format("the shard {} cannot be taken out, because it cannot be checked whether it is empty: {}",
                         shard.shard, error.what()));
    }
  }
  return why;
}

}  // namespace brood
