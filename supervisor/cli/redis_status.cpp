#include "supervisor/cli/redis_status.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "shared/api/process_record.hpp"
#include "shared/api/readings.hpp"
#include "shared/base/clock.hpp"
#include "shared/config/tenants.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/in_flight/census.hpp"
#include "shared/store/queues/all_queue_names.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/queues/queue_sizes.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/totals.hpp"
#include "shared/store/report/work_entries.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sequences/sequences.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "supervisor/cli/lists/class_list.hpp"

namespace brood {
namespace {

constexpr std::size_t most_tenants_glanced_at = 100;

std::vector<std::string> sorted_names(const Reply& reply) {
  std::vector<std::string> names = read_name_list(reply.view());
  std::sort(names.begin(), names.end());
  return names;
}

// Other programs may write anything: infinite times and invalid numbers count as 0.
double sane_time(double seconds) { return seconds >= 0 && seconds < 1e11 ? seconds : 0; }

void add_processes(Connection& redis, const std::vector<std::string>& identities, RedisStatus& status) {
  std::vector<Command> commands;
  for (const std::string& identity : identities) {
    commands.push_back(ask_process_hash(identity));
    commands.push_back(ask_supervisor_state(identity));
  }
  const std::vector<Reply> replies = redis.pipeline(commands);
  for (std::size_t i = 0; i < identities.size(); ++i) {
    if (auto process = read_process(identities[i], replies[2 * i].view()))
      status.processes.push_back(
          {std::move(*process), std::nullopt, std::nullopt, read_supervisor_state(replies[2 * i + 1].view())});
  }
}

std::optional<double> older(std::optional<double> one, std::optional<double> other) {
  return one && (!other || *one > *other) ? one : other;
}

std::optional<double> age_of_work(std::string_view entry, WallTime now) {
  const auto work = read_work("", "", entry);
  if (!work || work->run_at == Time()) return std::nullopt;
  return std::max(0.0, epoch_seconds(now) - epoch_seconds(WallTime(work->run_at)));
}

void ask_work(Connection& redis, RedisStatus& status) {
  std::vector<Command> commands;
  for (const ProcessStatus& process : status.processes) commands.push_back(ask_running(process.identity));
  const std::vector<Reply> replies = redis.pipeline(commands);
  const WallTime now = wall_now();
  for (std::size_t i = 0; i < replies.size(); ++i) {
    for (const std::string& work : read_running(replies[i].view()))
      status.processes[i].oldest_in_flight = older(status.processes[i].oldest_in_flight, age_of_work(work, now));
  }
}

void note_in_flight(const std::vector<InFlightHolder>& holders, RedisStatus& status) {
  const WallTime now = wall_now();
  for (const InFlightHolder& holder : holders) {
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

void ask_queues(Connection& redis, const std::vector<std::string>& names,
                const std::set<std::string, std::less<>>& paused, RedisStatus& status) {
  const std::vector<Reply> replies = redis.pipeline(ask_queue_glances(names, AskPaused::no));
  const std::vector<QueueGlance> glances = read_queue_glances(replies, AskPaused::no);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const QueueSummary summary = summary_of(names[i], glances[i]);
    QueueStatus queue{.name = names[i],
                      .size = std::nullopt,
                      .latency = summary.latency,
                      .paused = paused.contains(names[i]),
                      .served = status.somebody_fetches(names[i])};
    if (summary.is_list) queue.size = static_cast<std::int64_t>(summary.size);
    status.enqueued += queue.size.value_or(0);
    status.queues.push_back(std::move(queue));
  }
}

// Adds all tenants of a base as one queue.
void ask_tenants(Connection& redis, const std::string& base, const std::vector<std::string>& tenants,
                 const std::set<std::string, std::less<>>& paused, RedisStatus& status) {
  QueueStatus all{.name = all_tenants_of(base), .size = 0};
  all.tenants.emplace().known = static_cast<std::int64_t>(tenants.size());
  std::vector<std::string> filled;
  for (const std::vector<std::string>& slice : slices_to_size(tenants)) {
    const Reply reply = redis.run(queue_sizes(slice));
    for (QueueSizes::Filled& one : read_queue_sizes(slice, reply.view()).filled) {
      *all.size += one.jobs;
      ++all.tenants->with_jobs;
      if (filled.size() < most_tenants_glanced_at) filled.push_back(std::move(one.queue));
    }
  }
  const std::vector<Reply> replies = redis.pipeline(ask_queue_glances(filled, AskPaused::no));
  for (const QueueGlance& glance : read_queue_glances(replies, AskPaused::no))
    all.latency = std::max(all.latency, summary_of("", glance).latency);
  all.paused = paused.contains(all.name);
  all.served = status.somebody_fetches(all.name);
  status.enqueued += *all.size;
  status.queues.push_back(std::move(all));
}

void ask_all_queues(Connection& redis, const std::set<std::string>& names,
                    const std::set<std::string, std::less<>>& paused, RedisStatus& status) {
  std::map<std::string, std::vector<std::string>> tenants;
  std::vector<std::string> others;
  for (const std::string& name : names) {
    const auto tenant = tenant_in(name);
    (tenant ? tenants[std::string(tenant->base)] : others).push_back(name);
  }
  ask_queues(redis, others, paused, status);
  for (const auto& [base, queues] : tenants) ask_tenants(redis, base, queues, paused, status);
  std::sort(status.queues.begin(), status.queues.end(),
            [](const QueueStatus& a, const QueueStatus& b) { return a.name < b.name; });
}

}  // namespace

RedisStatus ask_redis_without_crashes(Connection& redis) {
  std::vector<Command> commands = ask_totals();
  commands.insert(commands.begin(), ask_processes());
  commands.insert(commands.end(), {ask_class_pauses(), ask_paused_queues(), ask_paused_classes()});
  const std::vector<Reply> replies = redis.pipeline(commands);
  const Reply &processes = replies[0], &paused = replies[replies.size() - 2];
  const auto totals = read_totals(std::span(replies).subspan(1, totals_asked));
  RedisStatus status;
  status.processed = totals.processed;
  status.failed = totals.failed;
  status.scheduled = totals.scheduled;
  status.retries = totals.retries;
  status.dead = totals.dead;
  add_processes(redis, sorted_names(processes), status);
  // If the set has another type, or we may not read it, no queue counts as paused.
  ask_all_queues(redis, all_queue_names(redis), read_paused(paused.view()).value_or(NameSet()), status);
  status.paused_classes = read_paused(replies.back().view()).value_or(NameSet());
  status.class_pauses = read_class_pauses(replies[replies.size() - 3].view());
  std::erase_if(status.class_pauses, [&](const auto& one) { return !status.paused_classes.contains(one.first); });
  for (const std::string& name : status.paused_classes) status.class_pauses.try_emplace(name);
  return status;
}

// Shows nothing if the keys are of another type or not readable for us.
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
  return std::any_of(processes.begin(), processes.end(),
                     [&](const ProcessStatus& process) { return fetches_from(process.queues, queue); });
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

namespace {

// Shows nothing if the keys are of another type or not readable for us.
void ask_quarantine(Connection& redis, RedisStatus& status) {
  const std::vector<Reply> replies = redis.pipeline({ask_quarantined(), ask_set_size(quarantined_set)});
  status.quarantine = read_quarantined(replies[0].view());
  status.quarantined = replies[1].view().is_integer() ? replies[1].view().integer() : 0;
}

void ask_number_of_batches(Connection& redis, RedisStatus& status) {
  const Reply reply = redis.call(count_batches());
  if (reply.view().is_integer()) status.batches = reply.view().integer();
}

void ask_periodic_jobs(Connection& redis, RedisStatus& status) {
  const std::vector<std::string> names = read_periodic_names(redis.call(ask_periodic_names()).view());
  if (names.empty()) return;
  std::vector<Command> commands;
  for (const std::string& name : names) commands.push_back(ask_periodic(name));
  const std::vector<Reply> replies = redis.pipeline(commands);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (auto known = read_periodic(replies[i].view())) status.periodic.emplace(names[i], std::move(*known));
  }
}

constexpr std::size_t most_limits_shown = 200;

// The other numbers do not depend on this one.
void ask_locks(Connection& redis, RedisStatus& status) {
  try {
    status.locks = count_locks(redis);
  } catch (const UnexpectedReply&) {
  }
}

void ask_limits(Connection& redis, RedisStatus& status) {
  try {
    status.limits = list_limits_of(redis, most_limits_shown);
  } catch (const UnexpectedReply&) {
    status.limits.clear();
  }
}

}  // namespace

namespace {

void add_queue(QueueStatus& sum, const QueueStatus& one) {
  if (one.size) sum.size = sum.size.value_or(0) + *one.size;
  sum.latency = std::max(sum.latency, one.latency);
  sum.paused = sum.paused || one.paused;
  sum.served = sum.served || one.served;
  if (!one.tenants) return;
  if (!sum.tenants) sum.tenants.emplace();
  sum.tenants->known = std::max(sum.tenants->known, one.tenants->known);  // a sum would count tenants several times
  sum.tenants->with_jobs = std::max(sum.tenants->with_jobs, one.tenants->with_jobs);
}

void add_process(ProcessStatus& sum, const ProcessStatus& one) {
  if (sum.in_flight || one.in_flight) sum.in_flight = sum.in_flight.value_or(0) + one.in_flight.value_or(0);
  sum.oldest_in_flight = older(sum.oldest_in_flight, one.oldest_in_flight);
  if (!sum.state) sum.state = one.state;
  merge_process(sum, one);
}

void add_silent(SilentStatus& sum, const SilentStatus& one) {
  sum.in_flight += one.in_flight;
  sum.oldest_in_flight = older(sum.oldest_in_flight, one.oldest_in_flight);
}

void sum_crash(Crash& sum, const Crash& one) {
  const std::int64_t count = sum.count + one.count;
  std::vector<std::int64_t> days = sum.days;
  days.resize(std::max(days.size(), one.days.size()));
  for (std::size_t i = 0; i < one.days.size(); ++i) days[i] += one.days[i];
  if (one.at > sum.at) sum = one;
  sum.count = count;
  sum.days = std::move(days);
}

// Adds each item of `more` to the one of the same name; the result is sorted by name.
template <typename Item, typename Name, typename Add>
void merge(std::vector<Item>& into, const std::vector<Item>& more, Name name, Add add) {
  std::map<std::string, Item> all;
  for (Item& item : into) all.emplace(item.*name, std::move(item));
  for (const Item& item : more) {
    const auto [known, is_new] = all.try_emplace(item.*name, item);
    if (!is_new) add(known->second, item);
  }
  into.clear();
  for (auto& [key, item] : all) into.push_back(std::move(item));
}

}  // namespace

RedisStatus sum_of(const std::vector<RedisStatus>& shards) {
  RedisStatus sum;
  sum.locks.emplace();
  for (const RedisStatus& one : shards) {
    sum.processed += one.processed;
    sum.failed += one.failed;
    sum.enqueued += one.enqueued;
    sum.scheduled += one.scheduled;
    sum.retries += one.retries;
    sum.dead += one.dead;
    sum.quarantined += one.quarantined;
    sum.in_sequences += one.in_sequences;
    sum.batches += one.batches;
    sum.limits.insert(sum.limits.end(), one.limits.begin(), one.limits.end());
    if (sum.locks && one.locks) {
      sum.locks->unique += one.locks->unique;
      sum.locks->running += one.locks->running;
    } else {
      sum.locks.reset();
    }
    merge(sum.processes, one.processes, &ProcessStatus::identity, add_process);
    merge(sum.silent, one.silent, &SilentStatus::identity, add_silent);
    merge(sum.queues, one.queues, &QueueStatus::name, add_queue);
    merge(sum.crashes, one.crashes, &Crash::fingerprint, sum_crash);
    sum.paused_classes.insert(one.paused_classes.begin(), one.paused_classes.end());
    add_pauses(sum.class_pauses, one.class_pauses);
    sum.periodic.insert(one.periodic.begin(), one.periodic.end());  // each job is in only one shard
    for (const auto& [name, quarantined] : one.quarantine) {
      const auto [known, is_new] = sum.quarantine.try_emplace(name, quarantined);
      if (!is_new && quarantined.since > known->second.since) known->second = quarantined;
    }
  }
  std::stable_sort(sum.crashes.begin(), sum.crashes.end(), [](const Crash& a, const Crash& b) { return a.at > b.at; });
  return sum;
}

RedisStatus ask_redis(Connection& redis) {
  RedisStatus status = ask_redis_without_crashes(redis);
  ask_work(redis, status);
  note_in_flight(in_flight_census(redis), status);
  status.crashes = ask_crashes(redis);
  ask_quarantine(redis, status);
  status.in_sequences = jobs_waiting_in_sequences(redis);
  ask_number_of_batches(redis, status);
  ask_periodic_jobs(redis, status);
  ask_limits(redis, status);
  ask_locks(redis, status);
  return status;
}

RedisStatus ask_redis_of(Connection& redis, const std::vector<std::string>& identities) {
  RedisStatus status;
  add_processes(redis, identities, status);
  ask_work(redis, status);
  note_in_flight(in_flight_of(redis, identities), status);
  return status;
}

}  // namespace brood
