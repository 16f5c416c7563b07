#include "shared/scoreboard/class_usage.hpp"

#include <algorithm>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_name = sizeof(UsageEntry::name) - 1;

// A count that somebody scribbled over must still be a number to whoever reads JSON.
constexpr std::uint64_t largest_count = (1ULL << 53) - 1;

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash != 0 ? hash : 1;
}

// Whoever claimed the entry may have died before it wrote the name, so that everybody who finds none writes it.  All of
// them write the same bytes.
void write_name(UsageEntry& entry, std::string_view name) {
  if (entry.named.load(std::memory_order_acquire) != 0) return;
  for (std::size_t i = 0; i < name.size(); ++i)
    std::atomic_ref(entry.name[i]).store(name[i], std::memory_order_relaxed);
  entry.named.store(1, std::memory_order_release);
}

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

std::string read_name(const UsageEntry& entry) {
  std::string name;
  for (std::size_t i = 0; i < longest_name; ++i) {
    // Loads alone: the memory may be mapped for reading only.
    const char c = std::atomic_ref(const_cast<char&>(entry.name[i])).load(std::memory_order_relaxed);
    if (c == '\0') break;
    name += c;
  }
  return name;
}

// Reads `runs` last: whoever adds a run counts it there first.  So there are never fewer runs than failed ones.
ClassUsage read(const UsageEntry& entry) {
  const auto bounded = [](const std::atomic<std::uint64_t>& count) { return std::min(count.load(), largest_count); };
  ClassUsage usage;
  for (std::size_t i = 0; i < histogram_buckets; ++i) usage.histogram[i] = bounded(entry.histogram[i]);
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
  usage.runs = bounded(entry.runs);
  return usage;
}

// The name of whoever claimed the entry; empty when there is none, or another.
std::string owner_of(const UsageEntry& entry) {
  const std::uint64_t hash = entry.hash.load();
  if (hash == 0 || entry.named.load(std::memory_order_acquire) == 0) return "";
  std::string name = read_name(entry);
  return fnv1a(name) == hash ? name : "";
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
  return index >= 0 && index < max_usage_classes ? owner_of(table.entries[static_cast<std::size_t>(index)]) : "";
}

bool is_countable(std::string_view job_class) {
  return !job_class.empty() && job_class.size() <= longest_name &&
         std::none_of(job_class.begin(), job_class.end(), [](char c) {
           return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
                  std::string_view("|<>&\"'").find(c) != std::string_view::npos;
         });
}

int usage_index(UsageTable& table, std::string_view job_class) {
  if (!is_countable(job_class)) return max_usage_classes;
  const std::uint64_t hash = fnv1a(job_class);
  for (std::size_t step = 0; step < table.entries.size(); ++step) {
    const std::size_t index = (hash + step) % table.entries.size();
    UsageEntry& entry = table.entries[index];
    std::uint64_t found = entry.hash.load();
    if (found == 0 && entry.hash.compare_exchange_strong(found, hash)) found = hash;
    if (found != hash) continue;
    write_name(entry, job_class);
    return static_cast<int>(index);
  }
  return max_usage_classes;
}

void RunCounts::add(const RunNote& note) {
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
  if (runs.failed > 0) entry.failed.fetch_add(runs.failed, std::memory_order_relaxed);
  if (runs.ms > 0) entry.ms.fetch_add(runs.ms, std::memory_order_relaxed);
  std::uint64_t left = runs.ended_well;
  for (std::size_t i = 0; left > 0 && i < histogram_buckets; ++i) {
    if (runs.histogram[i] == 0) continue;
    entry.histogram[i].fetch_add(runs.histogram[i], std::memory_order_relaxed);
    left -= std::min<std::uint64_t>(left, runs.histogram[i]);
  }
}

void add_crash(UsageEntry& entry, const JobUsage& usage, std::uint64_t generation) {
  counts_of(entry, generation).runs.fetch_add(1, std::memory_order_relaxed);
  counts_of(entry, generation).crashed.fetch_add(1, std::memory_order_relaxed);
  add(entry, usage, 1);
  entry.crashed.fetch_add(1, std::memory_order_relaxed);
}

void add_noted_runs(UsageTable& table, RunNotes& notes, const JobUsage& together, std::uint64_t generation) {
  std::array<RunNote, max_run_notes> ended;
  int count = 0;
  for (auto& note : notes) {
    const std::uint64_t word = note.load(std::memory_order_relaxed);
    if (word == 0) continue;
    // Forgotten first: a run that is lost with its worker now is better than one that is counted twice.
    note.store(0, std::memory_order_release);
    ended[static_cast<std::size_t>(count)] = RunNote::read(word);
    if (ended[static_cast<std::size_t>(count)].state > RunNote::State::begun) ++count;
  }
  for (int i = 0; i < count;) {
    const int index = ended[static_cast<std::size_t>(i)].class_index, first = i;
    RunCounts runs;
    for (; i < count && ended[static_cast<std::size_t>(i)].class_index == index; ++i)
      runs.add(ended[static_cast<std::size_t>(i)]);
    const int share = i - first;
    add_runs(table.at(index), {together.cpu * share / count, together.wall * share / count, together.peak_rss_kb}, runs,
             generation);
  }
}

void add_left_runs(UsageTable& table, RunNotes& notes, const std::function<bool(int entry)>& cut_short, bool crashed,
                   const JobUsage& usage, std::uint64_t generation) {
  for (int entry = 0; entry < max_run_notes; ++entry) {
    RunNote note = RunNote::read(notes[static_cast<std::size_t>(entry)].exchange(0));
    if (note.state == RunNote::State::none) continue;
    const bool last = cut_short(entry);
    if (!last && note.state == RunNote::State::begun) continue;
    UsageEntry& of_class = table.at(note.class_index);
    if (last && crashed) {
      add_crash(of_class, usage, generation);
      continue;
    }
    if (note.state == RunNote::State::begun) note.state = RunNote::State::failed;
    RunCounts runs;
    runs.add(note);
    add_runs(of_class, last ? usage : JobUsage{}, runs, generation);
  }
}

std::vector<ClassUsage> read_class_usage(const Scoreboard& board) {
  std::vector<ClassUsage> usage;
  for (const UsageEntry& entry : board.usage().entries) {
    std::string name = owner_of(entry);
    if (name.empty()) continue;
    usage.push_back(read(entry));
    usage.back().job_class = std::move(name);
    read_preceding(usage.back(), entry, board.usage());
  }
  std::sort(usage.begin(), usage.end(),
            [](const ClassUsage& a, const ClassUsage& b) { return a.job_class < b.job_class; });
  const ClassUsage others = read(board.usage().others);
  if (others.runs > 0 || others.expired > 0) usage.push_back(others);
  return usage;
}

std::vector<RunTally> read_generation(const Scoreboard& board, std::uint64_t generation) {
  std::vector<RunTally> tallies(max_usage_classes);
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    const UsageEntry& entry = board.usage().entries[i];
    if (entry.hash.load() == 0) continue;
    const GenerationCounts& counts = entry.generations[generation % generations_counted];
    // Reads what went wrong before `runs`: see read().
    tallies[i].failed = std::min(counts.failed.load(), largest_count);
    tallies[i].crashed = std::min(counts.crashed.load(), largest_count);
    tallies[i].runs = std::min(counts.runs.load(), largest_count);
  }
  return tallies;
}

std::string class_of_entry(const Scoreboard& board, int index) {
  if (index < 0 || index >= max_usage_classes) return "";
  return owner_of(board.usage().entries[static_cast<std::size_t>(index)]);
}

std::vector<ClassUsage> take_class_usage(Scoreboard& board) {
  std::vector<ClassUsage> usage;
  for (UsageEntry& entry : board.usage().entries) {
    std::string name = owner_of(entry);
    if (name.empty()) continue;
    const std::uint64_t peak = entry.fresh_peak_rss_kb.load() == 0 ? 0 : entry.fresh_peak_rss_kb.exchange(0);
    usage.push_back(read(entry));
    usage.back().job_class = std::move(name);
    usage.back().peak_rss_kb = std::min(peak, largest_count);
  }
  return usage;
}

}  // namespace brood
