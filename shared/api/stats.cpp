#include <stdexcept>

#include "shared/api/api_state.hpp"
#include "shared/api/pages.hpp"
#include "shared/api/readings.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/utc.hpp"

namespace brood {
namespace {

constexpr int longest_history = 1825;

// The members of a key that may be of any type; none when it is not a set.
std::vector<std::string> lenient_members(ClientConnection& redis, std::string_view key) {
  const Reply type = redis.call({"TYPE", key});
  return type.view().text() == "set" ? members_of(redis, key) : std::vector<std::string>{};
}

std::uint64_t sum(const std::vector<Reply>& replies, std::size_t first, std::size_t last) {
  std::uint64_t all = 0;
  for (std::size_t i = first; i < last; ++i) all += lenient_number<std::uint64_t>(replies[i].view());
  return all;
}

double latency_of_next(ReplyView reply) { return reply.is_string() ? latency_of(reply.text()) : 0; }

}  // namespace

std::vector<QueueSummary> Api::queue_summaries() {
  return state_->converse([](ClientConnection& redis) {
    const std::vector<std::string> names = members_of(redis, keys::queues);
    std::vector<Command> commands;
    for (const std::string& name : names) {
      commands.push_back({"LLEN", keys::queue(name)});
      commands.push_back({"LINDEX", keys::queue(name), "-1"});
      commands.push_back({"SISMEMBER", keys::paused, name});
    }
    const std::vector<Reply> replies = redis.pipeline(commands);
    std::vector<QueueSummary> summaries;
    for (std::size_t i = 0; i < names.size(); ++i) {
      QueueSummary summary{.name = names[i]};
      summary.is_list = replies[3 * i].view().is_integer();
      summary.size = lenient_number<std::size_t>(replies[3 * i].view());
      summary.latency = latency_of_next(replies[3 * i + 1].view());
      summary.paused = lenient_number<int>(replies[3 * i + 2].view()) == 1;
      summaries.push_back(std::move(summary));
    }
    return summaries;
  });
}

Stats Api::stats() {
  return state_->converse([](ClientConnection& redis) {
    const std::vector<std::string> processes = lenient_members(redis, keys::processes);
    const std::vector<std::string> queues = lenient_members(redis, keys::queues);
    std::vector<Command> commands{{"GET", keys::stat_processed},
                                  {"GET", keys::stat_failed},
                                  {"ZCARD", keys::schedule},
                                  {"ZCARD", keys::retry},
                                  {"ZCARD", keys::dead},
                                  {"SCARD", keys::processes},
                                  {"LINDEX", keys::queue("default"), "-1"}};
    const std::size_t first_process = commands.size();
    for (const std::string& identity : processes) commands.push_back({"HGET", identity, "busy"});
    const std::size_t first_queue = commands.size();
    for (const std::string& name : queues) commands.push_back({"LLEN", keys::queue(name)});

    const std::vector<Reply> replies = redis.pipeline(commands);
    const auto number = [&](std::size_t i) { return lenient_number<std::uint64_t>(replies[i].view()); };
    Stats stats;
    stats.processed = number(0);
    stats.failed = number(1);
    stats.scheduled = number(2);
    stats.retries = number(3);
    stats.dead = number(4);
    stats.processes = number(5);
    stats.default_latency = latency_of_next(replies[6].view());
    stats.busy = sum(replies, first_process, first_queue);
    stats.enqueued = sum(replies, first_queue, replies.size());
    return stats;
  });
}

void Api::reset_stats() {
  state_->converse([](ClientConnection& redis) {
    redis.call({"MSET", keys::stat_failed, "0", keys::stat_processed, "0"});
  });
}

std::vector<DayStats> Api::history(int days) {
  if (days < 1 || days > longest_history) throw std::invalid_argument("a history has 1 to 1825 days");
  std::vector<DayStats> history;
  Command ask{"MGET"};
  const WallTime now = wall_now();
  for (int back = 0; back < days; ++back) {
    const std::string day = Utc(now - std::chrono::days(back)).date('-');
    ask.add(keys::processed_on(day)).add(keys::failed_on(day));
    history.push_back({day});
  }
  const Reply reply = state_->converse([&](ClientConnection& redis) { return redis.call(ask); });
  for (std::size_t i = 0; i < history.size() && 2 * i + 1 < reply.view().size(); ++i) {
    history[i].processed = lenient_number<std::uint64_t>(reply.view()[2 * i]);
    history[i].failed = lenient_number<std::uint64_t>(reply.view()[2 * i + 1]);
  }
  return history;
}

}  // namespace brood
