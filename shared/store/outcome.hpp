#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/outcome_notes.hpp"

namespace brood {

// The last run, for the report of a job that keeps one (shared/job/job_report.hpp): what its payload lacks.
struct EndOfRun {
  std::string result = {};                     // JSON; empty: none
  std::string error_class = {}, message = {};  // why it ends without success
  double elapsed = 0;                          // seconds; 0: not known
};

// How one entry of a batch is settled.
struct Outcome {
  enum class Kind {
    acknowledge,   // done, or stored nowhere
    retry,         // ZADD retry score payload
    move_to_dead,  // ZADD dead score payload, and the dead set is trimmed
    schedule,      // ZADD schedule score payload (a job that interrupted itself within its first second)
    requeue_back,  // LPUSH: behind what waits
    requeue_head,  // RPUSH: next to run
    give_back,     // as requeue_head, and counted: see entry_mark.hpp; only for recoveries
    quarantine,    // ZADD brood:quarantined score payload: it waits until its class is released or resumed
    beside,        // LPUSH queue:<into>: it waits for a place of its class's cap
    discard,       // as acknowledge, for a job that has failed for good
  } kind = Kind::acknowledge;
  std::string payload = {};  // empty for acknowledge and discard; else empty means the entry as it lies in flight
  double score = 0;          // seconds; for retry, move_to_dead, schedule, quarantine
  std::string into = {};     // the name of a queue; for beside
  std::shared_ptr<const EndOfRun> last_run = {};  // of a job that ends and keeps a report; null: unknown
  bool lets_lock_go_first = false;                // with requeue_head: see append_turn_for_lock() in holdings.hpp

  bool leaves_nothing() const { return kind == Kind::acknowledge || kind == Kind::discard; }
};

// How far the dead set may grow: the settings dead_max_jobs and dead_timeout.  With INT64_MAX for both it is not cut.
struct DeadLimits {
  std::int64_t max_jobs = 10'000;
  std::int64_t timeout_seconds = 15'552'000;
  // For callers that do not know the servers' limits.
  static constexpr DeadLimits none() { return {INT64_MAX, INT64_MAX}; }

  // The two arguments by which a script trims the dead set: the score that is too old, and the size.
  std::vector<std::string> script_arguments(WallTime now) const;
};

// The name of the enumerator, as the scripts spell it.  `discard` is "acknowledge" for them.
std::string_view to_string(Outcome::Kind kind);

// A result as a worker notes it for the recovery, and back.
OutcomeNote note_of_result(const EndOfRun& run);
Outcome succeeded_with(const OutcomeNote& note);

// The outcome of a failed job as a worker notes it, and back; nullopt if no failure ends so.
OutcomeNote note_of(const Outcome& outcome);
std::optional<Outcome> noted_outcome(const OutcomeNote& note);

// Adds kind, payload and score: the three arguments that describe an outcome to a script.
void append_arguments(std::vector<std::string>& args, const Outcome& outcome);

// A failure's additions may make a payload too large to be stored.  Then the failure is recorded without its stack and
// with the beginning of its message.  If that is too large too, the entry is kept as it lies in flight, in `dead` if it
// had failed.  A result that may be too large is not kept.
enum class OutcomeSize { whole, in_short, as_it_is };
Outcome resized(const Outcome& outcome, OutcomeSize size);

// For outcomes that were refused together: resizes those that may be too large.  The others stay whole.
void resize(const std::vector<Outcome*>& outcomes, OutcomeSize size);

}  // namespace brood
