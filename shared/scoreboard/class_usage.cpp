#include "shared/scoreboard/class_usage.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

GenerationCounts& counts_of(UsageEntry& entry, std::uint64_t generation) {
  return entry.generations[generation % generations_counted];
}

void add(UsageEntry& entry, const JobUsage& usage, std::uint64_t runs) {
  const auto count = [](std::chrono::microseconds d) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(d.count(), 0));
  };
  entry.runs.fetch_add(runs, std::memory_order_relaxed);
  entry.cpu_us.fetch_add(count(usage.cpu), std::memory_order_relaxed);
  entry.wall_us.fetch_add(count(usage.wall), std::memory_order_relaxed);
  for (auto* const highest : {&entry.peak_rss_kb, &entry.fresh_peak_rss_kb}) {
    std::uint64_t peak = highest->load(std::memory_order_relaxed);
    while (peak < usage.peak_rss_kb && !highest->compare_exchange_weak(peak, usage.peak_rss_kb)) {
    }
  }
}

// Reads in the reverse of the order in which a run is counted, so that no part is larger than the whole.
ClassUsage read(const UsageEntry& entry) {
  const auto bounded = [](const std::atomic<std::uint64_t>& count) { return std::min(count.load(), largest_count); };
  ClassUsage usage;
  for (std::size_t i = 0; i < histogram_buckets; ++i) usage.histogram[i] = bounded(entry.histogram[i]);
  for (std::size_t way = 0; way < crash_ways.size(); ++way) usage.crashed_by[way] = bounded(entry.crashed_by[way]);
  usage.ms = bounded(entry.ms);
  usage.failed = bounded(entry.failed);
  usage.crashed = bounded(entry.crashed);
  usage.cpu_us = bounded(entry.cpu_us);
  usage.wall_us = bounded(entry.wall_us);
  usage.peak_rss_kb = bounded(entry.peak_rss_kb);
  usage.left_threads = bounded(entry.left_threads);
  usage.expired = bounded(entry.expired);
  usage.allows_threads = entry.allows_threads.load() != 0;
  usage.isolated = entry.isolated.load() != 0;
  usage.waited = entry.waited.read();
  usage.runs = bounded(entry.runs);
  return usage;
}

bool is_believed(const ClassUsage& usage) {
  const auto sum = [](const auto& counts) { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); };
  const std::uint64_t highest = highest_believed_count();
  return usage.runs <= highest && usage.expired <= highest &&
         sum(usage.histogram) + usage.failed + usage.crashed <= usage.runs && sum(usage.crashed_by) <= usage.crashed;
}

// The runs of a batch are of one queue.
void add_to_queues(QueueTable& table, std::span<const EndedRun> ended) {
  for (std::size_t i = 0; i < ended.size();) {
    const int index = ended[i].start.queue_index;
    QueueRuns runs;
    for (; i < ended.size() && ended[i].start.queue_index == index; ++i) {
      if (ended[i].note.state == RunNote::State::failed) ++runs.failed;
      if (ended[i].start.waited_ms) runs.waited.add(*ended[i].start.waited_ms);
      runs.took.add(ended[i].note.ms);
    }
    add_queue_runs(table.at(index), runs);
  }
}

std::uint64_t whole_ms(std::chrono::microseconds took) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(took.count() / 1'000, 0));
}

constexpr double millionths = 1e6;
constexpr std::uint64_t half = 0xffffffff, quarter = 0xffff;

void read_preceding(ClassUsage& usage, const UsageEntry& entry, const UsageTable& table) {
  usage.preceding = entry.preceding.read();
  if (usage.preceding) usage.preceding_name = class_at(table, usage.preceding->index);
  if (usage.preceding_name.empty()) usage.preceding.reset();
}

}  // namespace

void NotedPrecedingClass::note(const std::optional<PrecedingClass>& preceding) {
  if (!preceding) return who.store(0);
  const auto count = [](int crashes) { return static_cast<std::uint64_t>(std::clamp(crashes, 0, 0xffff)); };
  const auto share = [](double odd) { return static_cast<std::uint64_t>(std::clamp(odd, 0.0, 1.0) * millionths); };
  odds.store(share(preceding->usual) << 32 | share(preceding->certainty));
  who.store(count(preceding->crashes) << 32 | count(preceding->crashes_after) << 16 | count(preceding->index + 1));
}

std::optional<PrecedingClass> NotedPrecedingClass::read() const {
  const std::uint64_t counted = who.load(), shares = odds.load();
  const int index = static_cast<int>(counted & quarter) - 1;
  if (index < 0 || index >= max_usage_classes) return std::nullopt;
  const auto share = [](std::uint64_t word) { return std::min(1.0, static_cast<double>(word) / millionths); };
  const int crashes = static_cast<int>(counted >> 32 & quarter);
  return PrecedingClass{.index = index,
                        .crashes = crashes,
                        .crashes_after = std::min(crashes, static_cast<int>(counted >> 16 & quarter)),
                        .usual = share(shares >> 32),
                        .certainty = share(shares & half)};
}

UsageEntry& UsageTable::at(int index) {
  return index >= 0 && index < max_usage_classes ? entries[static_cast<std::size_t>(index)] : others;
}

std::string class_at(const UsageTable& table, int index) {
  return index >= 0 && index < max_usage_classes ? table.entries[static_cast<std::size_t>(index)].owner() : "";
}

bool is_countable(std::string_view job_class) {
  return !job_class.empty() && job_class.size() <= EntryName::longest &&
         std::none_of(job_class.begin(), job_class.end(), [](char c) {
           return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
                  std::string_view("|<>&\"'").find(c) != std::string_view::npos;
         });
}

int usage_index(UsageTable& table, std::string_view job_class) {
  if (!is_countable(job_class)) return max_usage_classes;
  return static_cast<int>(claim_entry(table.entries, job_class));
}

void RunCounts::add(const RunNote& note, const RunStart& start) {
  if (start.waited_ms) waited.add(*start.waited_ms);
  if (note.state == RunNote::State::failed) {
    ++failed;
  } else {
    ++ended_well;
    ms += note.ms;
    ++histogram[histogram_bucket(note.ms)];
  }
}

void add_runs(UsageEntry& entry, const JobUsage& usage, const RunCounts& runs, std::uint64_t generation) {
  GenerationCounts& counts = counts_of(entry, generation);
  counts.runs.fetch_add(runs.ended_well + runs.failed, std::memory_order_relaxed);
  if (runs.failed > 0) counts.failed.fetch_add(runs.failed, std::memory_order_relaxed);
  add(entry, usage, runs.ended_well + runs.failed);
  if (runs.failed > 0) entry.failed.fetch_add(runs.failed, std::memory_order_release);
  if (runs.ms > 0) entry.ms.fetch_add(runs.ms, std::memory_order_relaxed);
  std::uint64_t left = runs.ended_well;
  for (std::size_t i = 0; left > 0 && i < histogram_buckets; ++i) {
    if (runs.histogram[i] == 0) continue;
    entry.histogram[i].fetch_add(runs.histogram[i], std::memory_order_release);
    left -= std::min<std::uint64_t>(left, runs.histogram[i]);
  }
  entry.waited.add(runs.waited);
}

void add_crash(UsageEntry& entry, const JobUsage& usage, std::uint64_t generation, std::size_t way) {
  counts_of(entry, generation).runs.fetch_add(1, std::memory_order_relaxed);
  counts_of(entry, generation).crashed.fetch_add(1, std::memory_order_relaxed);
  add(entry, usage, 1);
  entry.crashed.fetch_add(1, std::memory_order_release);
  entry.crashed_by.at(way).fetch_add(1, std::memory_order_release);
}

void add_noted_runs(UsageTable& table, RunNotes& notes, const JobUsage& together, std::uint64_t generation) {
  std::array<EndedRun, max_run_notes> ended;
  int count = 0;
  for (NotedRun& note : notes) {
    const std::uint64_t word = note.run.load(std::memory_order_relaxed);
    if (word == 0) continue;
    EndedRun& run = ended[static_cast<std::size_t>(count)];
    run.note = RunNote::read(word);
    run.start = RunStart::read(note.start.load(std::memory_order_relaxed));
    // Forget the note first: if the worker dies now, a lost run is better than one that is counted twice.
    note.run.store(0, std::memory_order_release);
    if (run.note.state > RunNote::State::begun) ++count;
  }
  for (int i = 0; i < count;) {
    const int index = ended[static_cast<std::size_t>(i)].note.class_index, first = i;
    RunCounts runs;
    for (; i < count && ended[static_cast<std::size_t>(i)].note.class_index == index; ++i)
      runs.add(ended[static_cast<std::size_t>(i)].note, ended[static_cast<std::size_t>(i)].start);
    const int share = i - first;
    add_runs(table.at(index), {together.cpu * share / count, together.wall * share / count, together.peak_rss_kb}, runs,
             generation);
  }
  add_to_queues(table.queues, std::span(ended).first(static_cast<std::size_t>(count)));
}

std::vector<EndedRun> add_left_runs(UsageTable& table, RunNotes& notes, const std::function<bool(int entry)>& cut_short,
                                    std::optional<std::size_t> crash, const JobUsage& usage, std::uint64_t generation) {
  std::vector<EndedRun> added;
  for (int entry = 0; entry < max_run_notes; ++entry) {
    NotedRun& noted = notes[static_cast<std::size_t>(entry)];
    EndedRun run{RunNote::read(noted.run.exchange(0)), RunStart::read(noted.start.load())};
    RunNote& note = run.note;
    if (note.state == RunNote::State::none) continue;
    const bool last = cut_short(entry);
    if (!last && note.state == RunNote::State::begun) continue;
    UsageEntry& of_class = table.at(note.class_index);
    run.crashed = last && crash;
    if (note.state == RunNote::State::begun || run.crashed) {
      note.state = RunNote::State::failed;
      note.ms = whole_ms(usage.wall);
    }
    RunCounts runs;
    runs.add(note, run.start);
    if (run.crashed) {
      of_class.waited.add(runs.waited);
      add_crash(of_class, usage, generation, *crash);
    } else {
      add_runs(of_class, last ? usage : JobUsage{}, runs, generation);
    }
    added.push_back(run);
  }
  add_to_queues(table.queues, added);
  return added;
}

std::vector<ClassUsage> read_class_usage(const Scoreboard& board) {
  std::vector<ClassUsage> usage;
  for (const UsageEntry& entry : board.usage().entries) {
    std::string name = entry.owner();
    if (name.empty()) continue;
    ClassUsage of_class = read(entry);
    if (!is_believed(of_class)) continue;
    usage.push_back(std::move(of_class));
    usage.back().job_class = std::move(name);
    read_preceding(usage.back(), entry, board.usage());
  }
  std::sort(usage.begin(), usage.end(),
            [](const ClassUsage& a, const ClassUsage& b) { return a.job_class < b.job_class; });
  const ClassUsage others = read(board.usage().others);
  if ((others.runs > 0 || others.expired > 0) && is_believed(others)) usage.push_back(others);
  return usage;
}

std::vector<RunTally> read_generation(const Scoreboard& board, std::uint64_t generation) {
  std::vector<RunTally> tallies(max_usage_classes);
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    const UsageEntry& entry = board.usage().entries[i];
    if (entry.hash.load() == 0) continue;
    const GenerationCounts& counts = entry.generations[generation % generations_counted];
    // Reads the failures before `runs`: see read().
    tallies[i].failed = std::min(counts.failed.load(), largest_count);
    tallies[i].crashed = std::min(counts.crashed.load(), largest_count);
    tallies[i].runs = std::min(counts.runs.load(), largest_count);
  }
  return tallies;
}

std::string class_of_entry(const Scoreboard& board, int index) {
  if (index < 0 || index >= max_usage_classes) return "";
  return board.usage().entries[static_cast<std::size_t>(index)].owner();
}

std::vector<ClassUsage> take_class_usage(Scoreboard& board) {
  std::vector<ClassUsage> usage;
  for (UsageEntry& entry : board.usage().entries) {
    std::string name = entry.owner();
    if (name.empty()) continue;
    const std::uint64_t peak = entry.fresh_peak_rss_kb.load() == 0 ? 0 : entry.fresh_peak_rss_kb.exchange(0);
    usage.push_back(read(entry));
    usage.back().job_class = std::move(name);
    usage.back().peak_rss_kb = std::min(peak, largest_count);
  }
  return usage;
}

}  // namespace brood
