#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/histogram.hpp"
#include "shared/scoreboard/entry_name.hpp"
#include "shared/scoreboard/error_counts.hpp"
#include "shared/scoreboard/queue_usage.hpp"
#include "shared/scoreboard/run_note.hpp"
#include "shared/scoreboard/shared_counts.hpp"

namespace brood {

// Crashes are counted by these ways, each the error_class of the retry.  Other signals count as the last one.
inline constexpr std::array<std::string_view, 16> crash_ways{
    "SIGSEGV", "SIGABRT", "SIGBUS",  "SIGFPE",         "SIGILL",      "SIGSYS",     "SIGTRAP",   "SIGKILL",
    "SIGTERM", "SIGXCPU", "SIGXFSZ", "UnexpectedExit", "OutOfMemory", "JobTimeout", "JobKilled", "other"};

constexpr std::size_t crash_way(std::string_view error_class) {
  std::size_t way = 0;
  while (way + 1 < crash_ways.size() && crash_ways[way] != error_class) ++way;
  return way;
}

class Scoreboard;

inline constexpr int max_usage_classes = 256;

// How many generations a class has counts for.  A generation's number modulo this is its place.  More than two
// generations are never compared.
inline constexpr std::uint32_t generations_counted = 4;
struct GenerationCounts {
  std::atomic<std::uint64_t> runs, failed, crashed;
};

// A class that ran before the crashes of another class more often than chance explains.
struct PrecedingClass {
  int index = 0;                       // in the table
  int crashes = 0, crashes_after = 0;  // all crashes looked at, and those before which it ran
  double usual = 0;                    // the share of other runs before which it ran
  double certainty = 0;                // the probability that this is no chance
};

// The same in two words of shared memory.  A reader between the two writes sees one word of the older value.
struct NotedPrecedingClass {
  std::atomic<std::uint64_t> who;   // 0: none; the index plus one, and above its 16 bits the counts of crashes
  std::atomic<std::uint64_t> odds;  // in millionths

  void note(const std::optional<PrecedingClass>& preceding);
  std::optional<PrecedingClass> read() const;  // in bounds, whatever a job wrote there
};

// The use of one class's jobs since the supervisor began, in shared memory.
struct alignas(64) UsageEntry : EntryName {
  std::atomic<std::uint64_t> runs, failed, crashed;
  std::atomic<std::uint64_t> ms;                                        // of the runs that ended well
  std::array<std::atomic<std::uint64_t>, histogram_buckets> histogram;  // of these, too
  std::atomic<std::uint64_t> cpu_us, wall_us, peak_rss_kb;
  std::atomic<std::uint64_t> fresh_peak_rss_kb;                   // since the supervisor last took it
  std::atomic<std::uint64_t> left_threads;                        // jobs that ended while threads of theirs went on
  std::atomic<std::uint64_t> expired;                             // jobs that came too late to begin; not in `runs`
  std::array<GenerationCounts, generations_counted> generations;  // by the worker's
  std::atomic<std::uint32_t> allows_threads;  // not 0: its jobs may leave threads, which are not looked for
  std::atomic<std::uint32_t> isolated;        // not 0: each ran in a process of its own
  NotedPrecedingClass preceding;              // written by the supervisor
  SharedTimeCounts waited;                    // from when a job was enqueued last until it began
  std::array<std::atomic<std::uint64_t>, crash_ways.size()> crashed_by;  // of `crashed`, written by the supervisor
};

// How the spans of runs ended.
struct SpanCounts {
  std::atomic<std::uint64_t> exported;   // the collector has taken them
  std::atomic<std::uint64_t> unwritten;  // the exporter's pipe was full, or not there
  std::atomic<std::uint64_t> overflown;  // the exporter's queue was full, or was left when it ended
  std::atomic<std::uint64_t> refused;    // by the collector
};

// Every worker adds to this table, so a job may have scribbled over any byte.  Classes that do not fit any more are
// counted together.
struct alignas(64) UsageTable {
  std::array<UsageEntry, max_usage_classes> entries;
  UsageEntry others;
  QueueTable queues;
  std::atomic<std::uint64_t> datagrams_dropped;  // for StatsD, that the kernel did not take
  std::atomic<std::uint64_t> died;               // jobs moved to the dead set by other processes than their workers
  SpanCounts spans;
  ErrorCounts errors;

  UsageEntry& at(int index);  // `others` for max_usage_classes, and for any number that is no index
};

// Whether a name is safe in a key and on a page of Sidekiq: names in payloads may hold anything.
bool is_countable(std::string_view job_class);

// The class that owns the entry; empty: none does.
std::string class_at(const UsageTable& table, int index);

// The entry of a class, claimed if it has none yet.  The index of `others` if there is no room, or if the name is not
// countable.
int usage_index(UsageTable& table, std::string_view job_class);

// The use of one run of a job, or of several together.
struct JobUsage {
  std::chrono::microseconds cpu{}, wall{};
  std::uint64_t peak_rss_kb = 0;  // of any of them
};

// How many runs came to their ends, and how.
struct RunCounts {
  std::uint64_t ended_well = 0, failed = 0;
  std::uint64_t ms = 0;                                         // of those that ended well
  std::array<std::uint32_t, histogram_buckets> histogram = {};  // of those, too
  TimeCounts waited;

  void add(const RunNote& note, const RunStart& start = {});
};

// `generation` is that of the worker that ran them.
void add_runs(UsageEntry& entry, const JobUsage& usage, const RunCounts& runs, std::uint64_t generation = 1);

// Adds a run that its worker did not survive.  `way` is an index of crash_ways.
void add_crash(UsageEntry& entry, const JobUsage& usage, std::uint64_t generation = 1,
               std::size_t way = crash_ways.size() - 1);

// Adds the runs that have ended, and forgets the notes.  `together` is the usage of all of them.
void add_noted_runs(UsageTable& table, RunNotes& notes, const JobUsage& together, std::uint64_t generation = 1);

// A run that is over.
struct EndedRun {
  RunNote note;  // failed too if it crashed
  RunStart start;
  bool crashed = false;
};

// Adds the runs that a dead worker had noted and not added, and forgets the notes.  `cut_short` returns whether the
// worker's end cut the run of an entry short.  `usage` is that of this run, and `crash` the way in which it crashed, as
// an index of crash_ways; nullopt: it was ended.  Returns the runs that were added.
std::vector<EndedRun> add_left_runs(UsageTable& table, RunNotes& notes, const std::function<bool(int entry)>& cut_short,
                                    std::optional<std::size_t> crash, const JobUsage& usage,
                                    std::uint64_t generation = 1);

// The counts of one class.  Each only grows.
struct ClassTotals {
  std::uint64_t runs = 0, failed = 0, crashed = 0;  // the crashed are not among the failed
  std::uint64_t ms = 0;
  std::array<std::uint64_t, histogram_buckets> histogram = {};
  std::uint64_t cpu_us = 0, wall_us = 0;

  // Calls `visit` with each of this one's counts and the same of `other`.
  template <typename Self, typename Other, typename Visit>
  static void pairwise(Self& self, Other& other, Visit visit) {
    for (const auto member : {&ClassTotals::runs, &ClassTotals::failed, &ClassTotals::crashed, &ClassTotals::ms,
                              &ClassTotals::cpu_us, &ClassTotals::wall_us})
      visit(self.*member, other.*member);
    for (std::size_t i = 0; i < histogram_buckets; ++i) visit(self.histogram[i], other.histogram[i]);
  }
};

struct ClassUsage : ClassTotals {
  std::string job_class;  // empty: all that found no room in the table
  std::uint64_t peak_rss_kb = 0;
  std::uint64_t left_threads =
      0;                        // runs that ended while threads of theirs went on, for which their worker was replaced
  std::uint64_t expired = 0;    // jobs that came too late to begin, and are no runs
  bool allows_threads = false;  // its jobs may leave threads, which are not looked for
  bool isolated = false;        // each runs in a process of its own
  std::optional<PrecedingClass> preceding = std::nullopt;
  std::string preceding_name = {};  // of that class; empty: there is none
  TimeCounts waited = {};           // from when a job was enqueued last until it began
  std::array<std::uint64_t, crash_ways.size()> crashed_by = {};
};

// The usage of all classes by name: at most max_usage_classes, and the rest.  Leaves out entries that a job has
// scribbled over: their name is not the claimed one, or their counts are impossible.
std::vector<ClassUsage> read_class_usage(const Scoreboard& board);

// How the runs of one class have ended in the workers of one generation.  Each count only grows.
struct RunTally {
  std::uint64_t runs = 0, failed = 0, crashed = 0;
};
// One tally for each entry of the table, in its order; zeros if no class has the entry.
std::vector<RunTally> read_generation(const Scoreboard& board, std::uint64_t generation);
// The class that the entry counts; empty: it is scribbled over.
std::string class_of_entry(const Scoreboard& board, int index);

// As read_class_usage(), without the rest; the peaks are those since the last call.
std::vector<ClassUsage> take_class_usage(Scoreboard& board);

}  // namespace brood
