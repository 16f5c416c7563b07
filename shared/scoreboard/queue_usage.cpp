#include "shared/scoreboard/queue_usage.hpp"

#include <algorithm>
#include <utility>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

// Reads the runs last, since a worker counts each run there first.  So the failed ones never outnumber the runs.
QueueUsage read_queue(const QueueEntry& entry, std::string name) {
  QueueUsage usage;
  usage.failed = std::min(entry.failed.load(), largest_count);
  usage.waited = entry.waited.read();
  usage.took = entry.took.read();
  usage.queue = std::move(name);
  return usage;
}

// Some runs have no time of waiting.
bool is_believed(const QueueUsage& usage) {
  const std::uint64_t runs = usage.took.count();
  return runs <= highest_believed_count() && usage.failed <= runs && usage.waited.count() <= runs;
}

}  // namespace

QueueEntry& QueueTable::at(int index) {
  return index >= 0 && index < max_usage_queues ? entries[static_cast<std::size_t>(index)] : others;
}

int queue_index(QueueTable& table, std::string_view queue) {
  if (queue.empty() || queue.size() > EntryName::longest || queue.find('\0') != queue.npos) return max_usage_queues;
  return static_cast<int>(claim_entry(table.entries, queue));
}

std::string queue_at(const QueueTable& table, int index) {
  return index >= 0 && index < max_usage_queues ? table.entries[static_cast<std::size_t>(index)].owner() : "";
}

void add_queue_runs(QueueEntry& entry, const QueueRuns& runs) {
  entry.took.add(runs.took);
  entry.waited.add(runs.waited);
  if (runs.failed > 0) entry.failed.fetch_add(runs.failed, std::memory_order_release);
}

std::vector<QueueUsage> read_queue_usage(const Scoreboard& board) {
  std::vector<QueueUsage> usage;
  for (const QueueEntry& entry : board.usage().queues.entries) {
    std::string name = entry.owner();
    if (name.empty()) continue;
    if (QueueUsage of_queue = read_queue(entry, std::move(name)); is_believed(of_queue))
      usage.push_back(std::move(of_queue));
  }
  std::sort(usage.begin(), usage.end(), [](const QueueUsage& a, const QueueUsage& b) { return a.queue < b.queue; });
  QueueUsage others = read_queue(board.usage().queues.others, "");
  if (others.took.count() > 0 && is_believed(others)) usage.push_back(std::move(others));
  return usage;
}

}  // namespace brood
