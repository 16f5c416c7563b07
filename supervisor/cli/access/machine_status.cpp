#include "supervisor/cli/access/machine_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "shared/base/identity.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/cli/access/scoreboards.hpp"

namespace brood {
namespace {

double seconds(SteadyTime::duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string state_of(const SlotSnapshot& worker, std::uint32_t flags, SteadyTime now) {
  if (!process_lives(worker.pid, worker.start_time)) {
    if (worker.rests_until > now) return "resting";
    return worker.ready ? "gone" : "starting";
  }
  if (!worker.ready) return "starting";
  if (worker.current >= 0) return "busy";
  if (flags & slot_stop) return "stopping";
  return flags & slot_quiet ? "quiet" : "idle";
}

WorkerStatus read_worker(const std::string& identity, int slot, const SlotSnapshot& worker, std::uint32_t flags,
                         SteadyTime now) {
  WorkerStatus status;
  status.identity = identity;
  status.slot = slot;
  status.pid = worker.pid;
  status.state = state_of(worker, flags, now);
  status.capsule = worker.capsule;
  status.generation = worker.generation;
  status.processed = worker.processed - worker.processed_before;
  status.failed = worker.failed - worker.failed_before;
  if (status.state == "resting") status.rests_for = seconds(worker.rests_until - now);
  if (status.state != "busy") return status;
  status.job_pid = worker.job_pid;
  status.job_class = worker.job_class;
  status.jid = worker.jid;
  status.queue = worker.queue;
  status.progress = worker.progress;
  status.age = std::max(0.0, seconds(now - worker.started_steady));
  if (worker.deadline) status.deadline_in = seconds(*worker.deadline - now);
  return status;
}

void add(ClassUsage& sum, const ClassUsage& usage) {
  const auto add = [](std::uint64_t& count, std::uint64_t more) { count += more; };
  sum.job_class = usage.job_class;
  ClassTotals::pairwise(sum, usage, add);
  sum.waited.ms += usage.waited.ms;
  for (std::size_t i = 0; i < sum.waited.buckets.size(); ++i) sum.waited.buckets[i] += usage.waited.buckets[i];
  for (std::size_t i = 0; i < sum.crashed_by.size(); ++i) sum.crashed_by[i] += usage.crashed_by[i];
  sum.peak_rss_kb = std::max(sum.peak_rss_kb, usage.peak_rss_kb);
  sum.left_threads += usage.left_threads;
  sum.expired += usage.expired;
  sum.allows_threads |= usage.allows_threads;
  sum.isolated |= usage.isolated;
  if (usage.preceding && (!sum.preceding || sum.preceding->certainty < usage.preceding->certainty)) {
    sum.preceding = usage.preceding;
    sum.preceding_name = usage.preceding_name;
  }
}

// An impossible count must have been overwritten by a job: it counts as 0.
std::uint64_t believed(std::uint64_t count) { return count <= highest_believed_count() ? count : 0; }

ErrorReportStatus read_error_reports(const ErrorCounts& counts) {
  ErrorReportStatus status;
  status.written = believed(counts.written.load());
  status.unwritten = believed(counts.unwritten.load());
  status.summed = believed(counts.summed.load());
  status.forgotten = believed(counts.forgotten.load());
  for (std::size_t i = 0; i < status.sinks.size(); ++i) {
    const ErrorSinkCounts& sink = counts.sinks[i];
    status.sinks[i] = {sink.in_use.load() == 1, believed(sink.sent.load()), believed(sink.refused.load()),
                       believed(sink.overflown.load()), believed(sink.away_since.load())};
  }
  return status;
}

void add(ErrorReportStatus& sum, const ErrorReportStatus& one) {
  sum.written += one.written;
  sum.unwritten += one.unwritten;
  sum.summed += one.summed;
  sum.forgotten += one.forgotten;
  for (std::size_t i = 0; i < sum.sinks.size(); ++i) {
    ErrorSinkStatus& sink = sum.sinks[i];
    sink.in_use |= one.sinks[i].in_use;
    sink.sent += one.sinks[i].sent;
    sink.refused += one.sinks[i].refused;
    sink.overflown += one.sinks[i].overflown;
    sink.away_since = std::max(sink.away_since, one.sinks[i].away_since);
  }
}

}  // namespace

JobCounters sum_of_counters(const MachineStatus& machine) {
  JobCounters sum;
  for (const auto& [identity, counters] : machine.counters) {
    sum.processed += counters.processed;
    sum.failed += counters.failed;
    sum.outcomes_dropped += counters.outcomes_dropped;
    sum.unconfirmed += counters.unconfirmed;
    sum.expired += counters.expired;
    sum.died += counters.died;
    sum.datagrams_dropped += counters.datagrams_dropped;
    sum.spans_exported += counters.spans_exported;
    sum.spans_unwritten += counters.spans_unwritten;
    sum.spans_overflown += counters.spans_overflown;
    sum.spans_refused += counters.spans_refused;
    add(sum.error_reports, counters.error_reports);
  }
  return sum;
}

MachineStatus read_scoreboards(const std::string& directory) {
  MachineStatus status;
  std::map<std::string, ClassUsage> classes;
  const FoundScoreboards found = find_scoreboards(directory);
  status.scoreboards_left_out = found.left_out;
  for (const std::string& path : found.paths) try {
      const Scoreboard board = Scoreboard::open(path, false);
      const SteadyTime now = steady_now();
      status.identities.insert(board.identity());
      JobCounters& counters = status.counters[board.identity()];
      counters.datagrams_dropped = believed(board.usage().datagrams_dropped.load());
      counters.died = believed(board.usage().died.load());
      const SpanCounts& spans = board.usage().spans;
      counters.spans_exported = believed(spans.exported.load());
      counters.spans_unwritten = believed(spans.unwritten.load());
      counters.spans_overflown = believed(spans.overflown.load());
      counters.spans_refused = believed(spans.refused.load());
      counters.error_reports = read_error_reports(board.usage().errors);
      for (int i = 0; i < board.slots(); ++i) {
        const SlotSnapshot worker = snapshot(board.slot(i));
        counters.processed += believed(worker.processed);
        counters.failed += believed(worker.failed);
        counters.outcomes_dropped += believed(worker.fenced_outcomes);
        counters.unconfirmed += believed(worker.unconfirmed);
        counters.expired += believed(worker.expired);
        counters.died += believed(worker.died);
        if (worker.pid > 0 || worker.rests_until > now)
          status.workers.push_back(read_worker(board.identity(), i, worker, board.slot(i).flags.load(), now));
      }
      std::vector<ClassUsage>& usage = status.usage[board.identity()] = read_class_usage(board);
      status.queues[board.identity()] = read_queue_usage(board);
      for (const ClassUsage& of_class : usage) add(classes[of_class.job_class], of_class);
    } catch (const std::exception&) {  // another version or user, or just gone
    }
  for (auto& [name, usage] : classes) status.classes.push_back(std::move(usage));
  return status;
}

std::string preceding_class_text(const ClassUsage& usage) {
  const PrecedingClass& preceding = usage.preceding.value();
  return fmt::format(
      "{}: {} of {} crashes followed {} in the same worker, as {:.1f}% of other runs did; {:.2f}% certain not to be "
      "chance",
      usage.job_class, preceding.crashes_after, preceding.crashes, usage.preceding_name, 100 * preceding.usual,
      std::min(100 * preceding.certainty, 99.99));
}

bool ErrorReportStatus::in_use() const {
  return std::any_of(sinks.begin(), sinks.end(), [](const ErrorSinkStatus& sink) { return sink.in_use; });
}

std::uint64_t ErrorReportStatus::lost() const {
  std::uint64_t all = unwritten + forgotten;
  for (const ErrorSinkStatus& sink : sinks) all += sink.refused + sink.overflown;
  return all;
}

}  // namespace brood
