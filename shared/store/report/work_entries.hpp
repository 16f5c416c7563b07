#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/script.hpp"

namespace brood {

// One busy worker, as Sidekiq's tools show it.
struct BusyWorker {
  std::string field;            // "<slot>.<incarnation>"
  std::uint64_t number = 0;     // of its last applied settle; the worker is left out if that has changed
  int entry = 0;                // which entry of its batch runs, counted from the oldest
  std::string thread_id;        // [0-9a-z]+
  std::string queue;            // bare name
  std::int64_t run_at = 0;      // seconds
  std::string neutral_payload;  // if not empty, shown instead of the payload: Sidekiq's Busy page does not escape
  std::optional<JobProgress> progress = {};
};

// A job's progress, for programs: {"done","total","note"}; and for operators: "3 of 10 (30 %), page 3".
std::string progress_json(const JobProgress& progress);
std::string progress_text(const JobProgress& progress);

inline constexpr int work_lives_seconds = 60;

// Rewrites `<identity>:work` (and the key that Sidekiq 6 reads) in one step.  Answers how many are shown.
ScriptCall work_entries(const std::string& identity, const std::vector<BusyWorker>& workers);

// One running job of a process, also Ruby's, as of its last heartbeat: JSON that names queue, payload and run_at.
struct WorkEntry {
  std::string thread_id;
  std::string work;
};

// The running jobs of each process, whichever release of Sidekiq it writes for.  A key of another type counts as empty.
std::vector<Command> ask_work(const std::vector<std::string>& identities);
std::vector<std::vector<WorkEntry>> read_work_entries(std::span<const Reply> replies);

// Reads the `work` of an entry; nullopt if it is not of the job with this jid.
struct RunningJobEntry {
  std::int64_t run_at = 0;  // seconds
  std::optional<JobProgress> progress;
};
std::optional<RunningJobEntry> read_running_job(std::string_view work, std::string_view jid);

// Only the `work` of each entry, of a process that writes for releases since 6.5, or of a brood process.
Command ask_running(std::string_view identity);
std::vector<std::string> read_running(ReplyView reply);

}  // namespace brood
