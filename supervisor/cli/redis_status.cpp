#include "supervisor/cli/redis_status.hpp"

#include <algorithm>

#include "shared/api/pages.hpp"
#include "shared/api/process_record.hpp"
#include "shared/base/clock.hpp"
#include "shared/store/in_flight/census.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

std::vector<std::string> sorted_texts(const Reply& reply) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < reply.view().size(); ++i) texts.emplace_back(reply.view()[i].text());
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::int64_t count(const Reply& reply) { return reply.view().is_nil() ? 0 : reply.view().integer(); }

// What other programs wrote may be anything: infinite times, and fields that are no numbers, count as 0.
double sane_time(double seconds) { return seconds >= 0 && seconds < 1e11 ? seconds : 0; }

void ask_processes(Connection& redis, const std::vector<std::string>& identities, RedisStatus& status) {
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back(ask_process(identity));
  const std::vector<Reply> replies = redis.pipeline(commands);
  for (std::size_t i = 0; i < identities.size(); ++i) {
    if (auto process = read_process(identities[i], replies[i].view()))
      status.processes.push_back({std::move(*process), std::nullopt, std::nullopt});
  }
}

std::optional<double> older(std::optional<double> one, std::optional<double> other) {
  return one && (!other || *one > *other) ? one : other;
}

std::optional<double> age_of_work(ReplyView entry, WallTime now) {
  const auto work = read_work("", "", entry.is_string() ? entry.text() : "");
  if (!work || work->run_at == Time()) return std::nullopt;
  return std::max(0.0, epoch_seconds(now) - epoch_seconds(WallTime(work->run_at)));
}

void ask_work(Connection& redis, RedisStatus& status) {
  std::vector<Command> commands;
  for (const ProcessStatus& process : status.processes) commands.push_back({"HVALS", keys::work(process.identity)});
  const std::vector<Reply> replies = redis.pipeline(commands);
  const WallTime now = wall_now();
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const ReplyView entries = replies[i].view();
    for (std::size_t j = 0; entries.is_array() && j < entries.size(); ++j)
      status.processes[i].oldest_in_flight = older(status.processes[i].oldest_in_flight, age_of_work(entries[j], now));
  }
}

void ask_in_flight(Connection& redis, RedisStatus& status) {
  const WallTime now = wall_now();
  for (const InFlightHolder& holder : in_flight_census(redis)) {
    const auto process = std::find_if(status.processes.begin(), status.processes.end(),
                                      [&](const ProcessStatus& one) { return one.identity == holder.name; });
    if (process != status.processes.end()) {
      process->in_flight = holder.jobs();
    } else if (!holder.has_heartbeat && holder.jobs() > 0) {
      SilentStatus silent{.identity = holder.name, .in_flight = holder.jobs(), .oldest_in_flight = std::nullopt};
      for (const InFlightHolder::List& list : holder.lists) {
        if (!list.enqueued_at) continue;
        silent.oldest_in_flight =
            older(silent.oldest_in_flight, std::max(0.0, epoch_seconds(now) - epoch_seconds(*list.enqueued_at)));
      }
      status.silent.push_back(std::move(silent));
    }
  }
}

void ask_queues(Connection& redis, const std::vector<std::string>& names, const std::vector<std::string>& paused,
                RedisStatus& status) {
  std::vector<Command> commands;
  for (const std::string& name : names) {
    commands.push_back({"LLEN", keys::queue(name)});
    commands.push_back({"LINDEX", keys::queue(name), "-1"});
  }
  const std::vector<Reply> replies = redis.pipeline(commands);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ReplyView next = replies[2 * i + 1].view();
    QueueStatus queue{.name = names[i],
                      .size = std::nullopt,
                      .latency = next.is_string() ? latency_of(next.text()) : 0,
                      .paused = std::binary_search(paused.begin(), paused.end(), names[i]),
                      .served = status.somebody_fetches(names[i])};
    if (replies[2 * i].view().is_integer()) queue.size = replies[2 * i].view().integer();
    status.enqueued += queue.size.value_or(0);
    status.queues.push_back(std::move(queue));
  }
}

}  // namespace

RedisStatus ask_redis_without_crashes(Connection& redis) {
  const std::vector<Reply> replies = redis.pipeline({{"SMEMBERS", keys::processes},
                                                     {"SMEMBERS", keys::queues},
                                                     {"GET", keys::stat_processed},
                                                     {"GET", keys::stat_failed},
                                                     {"ZCARD", keys::schedule},
                                                     {"ZCARD", keys::retry},
                                                     {"ZCARD", keys::dead},
                                                     {"SMEMBERS", keys::paused}});
  RedisStatus status;
  status.processed = count(replies[2]);
  status.failed = count(replies[3]);
  status.scheduled = count(replies[4]);
  status.retries = count(replies[5]);
  status.dead = count(replies[6]);
  ask_processes(redis, sorted_texts(replies[0]), status);
  // When the set is of another type, or we may not read it, no queue counts as paused.
  const bool has_paused = replies[7].view().is_array();
  ask_queues(redis, sorted_texts(replies[1]), has_paused ? sorted_texts(replies[7]) : std::vector<std::string>(),
             status);
  return status;
}

// The keys may be of another type, or we may lack the right to read them.
std::vector<Crash> ask_crashes(Connection& redis) {
  try {
    std::vector<Crash> crashes = read_crashes(redis);
    for (Crash& crash : crashes) crash.at = sane_time(crash.at);
    return crashes;
  } catch (const UnexpectedReply&) {
    return {};
  }
}

bool RedisStatus::somebody_fetches(const std::string& queue) const {
  return std::any_of(processes.begin(), processes.end(), [&](const ProcessStatus& process) {
    return std::find(process.queues.begin(), process.queues.end(), queue) != process.queues.end();
  });
}

std::int64_t RedisStatus::in_flight() const {
  std::int64_t jobs = 0;
  for (const ProcessStatus& process : processes) jobs += process.in_flight.value_or(process.busy);
  for (const SilentStatus& one : silent) jobs += one.in_flight;
  return jobs;
}

std::optional<double> RedisStatus::oldest_in_flight() const {
  std::optional<double> oldest;
  for (const ProcessStatus& process : processes) oldest = older(oldest, process.oldest_in_flight);
  for (const SilentStatus& one : silent) oldest = older(oldest, one.oldest_in_flight);
  return oldest;
}

RedisStatus ask_redis(Connection& redis) {
  RedisStatus status = ask_redis_without_crashes(redis);
  ask_work(redis, status);
  ask_in_flight(redis, status);
  status.crashes = ask_crashes(redis);
  return status;
}

}  // namespace brood
