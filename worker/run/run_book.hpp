#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/statsd_settings.hpp"
#include "shared/job/payload.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/scoreboard/worker_setup.hpp"
#include "shared/statsd/statsd.hpp"
#include "worker/run/job_run.hpp"

namespace brood {

// Sends this worker's runs to a StatsD server, batch by batch: those noted in the worker's record, once they are added
// to the usage of their classes.  The supervisor sends those that the worker dies before adding.
class RunsForStatsd {
 public:
  RunsForStatsd(const StatsdSettings& settings, UsageTable& table);

  // Notes that the run of entry `entry` has failed.
  void note_error(int entry, const std::string& error_class);
  void note_expired(int class_index, int queue_index);

  // Keeps the ended runs, which are about to be added.
  void take(const RunNotes& notes);
  // Sends all of them, without blocking.
  void send();

 private:
  const UsageTable& table_;
  Statsd statsd_;
  std::array<std::string, max_run_notes> errors_;
  // The names of the last run: most runs of a batch are of one class.
  int class_index_ = -1, queue_index_ = -1;
  std::string class_, queue_;
};

// Counts a worker's runs.  While they run they are in its record, so that the supervisor can count those that the
// worker does not survive.  Then they are counted in the usage of their classes and queues, and in StatsD, if it is
// configured.
class RunBook : public Stage {
 public:
  RunBook(WorkerSlot& slot, const WorkerSetup& worker_setup, const StatsdSettings& statsd);

  struct ClassFacts {
    bool has_code;  // false: no usage is kept of it
    bool allows_threads, is_isolated;
  };
  // Sets the class that the next calls are about.  If speaks_of(), it is set already, and its facts are not needed.
  bool speaks_of(const Payload& job) const {
    return job.counted_class() == class_.name && job.job_class() == class_.job_class;
  }
  void speak_of(const Payload& job, const ClassFacts& facts);

  void note_begin(const JobRun& run);  // before its entry runs
  void end(const JobRun& run) override;
  void settled(const JobRun& run) override;
  void forget(int entry);    // the job has not begun
  void expire(int entry);    // the job has not begun, since it has expired
  void note_recent();        // code of this class runs in this process now
  bool note_left_threads();  // returns whether a job of the class has done so before

  void end_batch(const JobUsage& together);

 private:
  void note(int entry, RunNote::State state, std::chrono::milliseconds took);
  bool has_room(int entry) const { return usage_ != nullptr && entry >= 0 && entry < max_run_notes; }
  auto& notes_of(int entry) { return slot_.record().run_notes[static_cast<std::size_t>(entry)]; }

  WorkerSlot& slot_;
  UsageTable* const usage_;  // nullptr: none is kept
  const std::uint64_t generation_;
  std::optional<RunsForStatsd> statsd_;
  struct {
    std::string job_class, name;
    std::optional<int> index = {};  // in the table of usage; nullopt: it has none
  } class_;
  struct {
    std::string name;
    int index = max_usage_queues;  // in the table of queues
  } queue_;
};

}  // namespace brood
