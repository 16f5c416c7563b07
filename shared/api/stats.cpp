#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/api/entries.hpp"
#include "shared/api/readings.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/queues/queue_jobs.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/totals.hpp"

namespace brood {
namespace {

constexpr int longest_history = 1825;
constexpr std::string_view usual_queue = "default";

// None when the key, which may be of any type, is not a set.
std::vector<std::string> lenient_names(ClientConnection& redis, const NamePages& pages) {
  return read_is_set(redis.call(pages.ask_kind()).view()) ? all_names(redis, pages) : std::vector<std::string>{};
}

std::uint64_t sum(std::span<const Reply> replies) {
  std::uint64_t all = 0;
  for (const Reply& reply : replies) all += lenient_number<std::uint64_t>(reply.view());
  return all;
}

// The numbers of one shard; some processes may beat in other shards too.
struct ShardStats {
  Stats stats;
  std::vector<std::string> processes;
};

ShardStats stats_of(detail::ApiState& shard) {
  return shard.converse([](ClientConnection& redis) {
    const std::vector<std::string> processes = lenient_names(redis, NamePages::of_processes());
    const std::vector<std::string> queues = lenient_names(redis, NamePages::of_queues());
    std::vector<Command> commands = ask_totals();
    commands.push_back(ask_process_count());
    commands.push_back(ask_next_job(usual_queue));
    const std::size_t first_process = commands.size(), first_queue = first_process + processes.size();
    for (const std::string& identity : processes) commands.push_back(ask_busy(identity));
    for (const std::string& name : queues) commands.push_back(ask_queue_length(name));

    const std::vector<Reply> replies = redis.pipeline(commands);
    const std::span<const Reply> answers(replies);
    const auto totals = read_totals_leniently(answers.first(totals_asked));
    const ReplyView next = answers[totals_asked + 1].view();
    Stats stats;
    stats.processed = totals.processed;
    stats.failed = totals.failed;
    stats.scheduled = totals.scheduled;
    stats.retries = totals.retries;
    stats.dead = totals.dead;
    stats.processes = lenient_number<std::uint64_t>(answers[totals_asked].view());
    stats.default_latency = next.is_string() ? latency_of(next.text()) : 0;
    stats.busy = sum(answers.subspan(first_process, processes.size()));
    stats.enqueued = sum(answers.subspan(first_queue));
    return ShardStats{stats, processes};
  });
}

std::vector<QueueSummary> queues_of(detail::ApiState& shard) {
  return shard.converse([](ClientConnection& redis) {
    const std::vector<std::string> names = all_names(redis, NamePages::of_queues());
    const std::vector<Reply> replies = redis.pipeline(ask_queue_glances(names, AskPaused::yes));
    const std::vector<QueueGlance> glances = read_queue_glances(replies, AskPaused::yes);
    std::vector<QueueSummary> summaries;
    for (std::size_t i = 0; i < names.size(); ++i) summaries.push_back(summary_of(names[i], glances[i]));
    return summaries;
  });
}

}  // namespace

std::vector<QueueSummary> Api::queue_summaries() {
  if (!shards_->several()) return queues_of(shards_->only());
  std::map<std::string, QueueSummary> all;
  shards_->each([&](detail::ApiState& shard) {
    for (const QueueSummary& here : queues_of(shard)) {
      const auto [known, is_new] = all.try_emplace(here.name, here);
      if (is_new) continue;
      QueueSummary& sum = known->second;
      sum.size += here.size;
      sum.latency = std::max(sum.latency, here.latency);
      sum.paused = sum.paused || here.paused;
      sum.is_list = sum.is_list && here.is_list;
    }
  });
  std::vector<QueueSummary> summaries;
  for (auto& [name, summary] : all) summaries.push_back(std::move(summary));
  return summaries;
}

Stats Api::stats() {
  if (!shards_->several()) return stats_of(shards_->only()).stats;
  Stats all;
  std::set<std::string> processes;
  shards_->each([&](detail::ApiState& shard) {
    const ShardStats here = stats_of(shard);
    all.processed += here.stats.processed;
    all.failed += here.stats.failed;
    all.scheduled += here.stats.scheduled;
    all.retries += here.stats.retries;
    all.dead += here.stats.dead;
    all.enqueued += here.stats.enqueued;
    all.busy += here.stats.busy;
    all.default_latency = std::max(all.default_latency, here.stats.default_latency);
    processes.insert(here.processes.begin(), here.processes.end());
  });
  all.processes = processes.size();
  return all;
}

void Api::reset_stats() {
  shards_->each(
      [](detail::ApiState& shard) { shard.converse([](ClientConnection& redis) { redis.call(reset_totals()); }); });
}

std::vector<DayStats> Api::history(int days) {
  if (days < 1 || days > longest_history) throw std::invalid_argument("a history has 1 to 1825 days");
  const std::vector<std::string> asked = last_days(wall_now(), days);
  std::vector<DayStats> history;
  for (const std::string& day : asked) history.push_back({day});
  shards_->each([&](detail::ApiState& shard) {
    const Reply reply = shard.converse([&](ClientConnection& redis) { return redis.call(ask_counts_of_days(asked)); });
    std::size_t i = 0;
    for (const CountsOfDay& of_day : read_counts_of_days(asked, reply.view())) {
      history[i].processed += of_day.processed;
      history[i++].failed += of_day.failed;
    }
  });
  return history;
}

}  // namespace brood
