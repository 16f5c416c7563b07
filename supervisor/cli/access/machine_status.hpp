#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/scoreboard/class_usage.hpp"
#include "shared/scoreboard/error_counts.hpp"
#include "shared/scoreboard/queue_usage.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// A worker of this machine, from its slot in a scoreboard.
struct WorkerStatus {
  std::string identity;
  int slot = 0;
  std::string capsule;
  std::uint64_t generation = 0;  // the number of its configuration: 1 at the start, one more with each restart
  std::int64_t pid = 0;
  std::int64_t job_pid = 0;             // of the process that runs the job; 0: the worker itself
  std::string state;                    // starting, idle, busy, quiet, stopping, gone, or resting: the slot is empty
  std::string job_class, jid, queue;    // of the job that it runs
  double age = 0;                       // seconds that the job has run
  std::optional<JobProgress> progress;  // of that job, if it reports any
  std::optional<double> deadline_in;    // seconds until the job's time is over; negative: since then
  std::optional<double> rests_for;      // seconds until a resting slot is filled
  std::uint64_t processed = 0, failed = 0;  // by this worker
};

// The counts of reports for one service, or for the program of [on_error]: see ErrorSinkCounts.
struct ErrorSinkStatus {
  bool in_use = false;
  std::uint64_t sent = 0, refused = 0, overflown = 0;
  std::uint64_t away_since = 0;  // seconds since the epoch; 0: it takes reports
};

// Reports of failures: see ErrorCounts.
struct ErrorReportStatus {
  std::uint64_t written = 0, unwritten = 0, summed = 0, forgotten = 0;
  std::array<ErrorSinkStatus, error_sink_names.size()> sinks = {};

  bool in_use() const;
  std::uint64_t lost() const;  // of all kinds
};

// Sums over all workers that a supervisor has had.
struct JobCounters {
  std::uint64_t processed = 0, failed = 0;
  std::uint64_t outcomes_dropped = 0;   // Redis had lost their worker: it was emptied, or failed over
  std::uint64_t unconfirmed = 0;        // settles that replicas did not confirm in time
  std::uint64_t expired = 0;            // jobs that came too late to begin; counted among the processed
  std::uint64_t died = 0;               // jobs that were moved to the dead set, including the expired
  std::uint64_t datagrams_dropped = 0;  // for StatsD, refused by the kernel
  // Spans of runs: see SpanCounts.
  std::uint64_t spans_exported = 0, spans_unwritten = 0, spans_overflown = 0, spans_refused = 0;
  ErrorReportStatus error_reports = {};
};

// The content of the scoreboards of this machine and user, also of dead supervisors as long as the files are there.
struct MachineStatus {
  std::set<std::string> identities;  // of the supervisors
  std::vector<WorkerStatus> workers;
  std::vector<ClassUsage> classes;                        // of all supervisors together, by name
  std::map<std::string, std::vector<ClassUsage>> usage;   // the same by the supervisor's identity
  std::map<std::string, std::vector<QueueUsage>> queues;  // likewise
  std::map<std::string, JobCounters> counters;            // likewise
  std::size_t scoreboards_left_out = 0;                   // there were more than are read: see scoreboards.hpp
};

// The sums over all supervisors.
JobCounters sum_of_counters(const MachineStatus& machine);

// Reads every scoreboard of `directory`; skips unreadable ones.
MachineStatus read_scoreboards(const std::string& directory);

// "Mail: 10 of 12 crashes followed Decode in the same worker, as 21.0% of other runs did; 99.97% certain not to be
// chance".  Only for a class with such a predecessor.
std::string preceding_class_text(const ClassUsage& usage);

}  // namespace brood
