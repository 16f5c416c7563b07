#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/sidekiq_release.hpp"
#include "shared/job/payload.hpp"

namespace brood {

// Why one attempt of a job ended badly.
struct Failure {
  std::string error_class;
  std::string message;
  std::vector<std::string> backtrace;  // one frame a line, innermost first; may be empty
  bool from_job = true;           // raised inside the job's own code: a missing `retry` then takes the class's option
  bool always_backtrace = false;  // a crash: stored whatever `backtrace` is
  bool crash = false;             // counts in the payload's crash_count; the max_crashes-th moves the job to dead
  bool misrouted = false;         // nothing here performs its class: it has not run, and goes to dead without retries
  std::string crash_json = {};    // the payload's member `crash`, an object; empty: the attempt did not end its worker
};

// The answer of a job's `retry_in` hook.
struct HookAnswer {
  enum class Kind { none, delay, discard, kill } kind = Kind::none;
  std::chrono::seconds delay{0};  // > 0 when kind is delay
};

// `retry` of a job class or of a payload: true is the server's max_retries, false stores nothing.
struct RetryOption {
  enum class Kind { yes, no, count } kind = Kind::yes;
  std::int64_t count = 0;
};

struct RetryPolicy {
  std::int64_t max_retries = 25;
  int max_crashes = 3;
  RetryFor retry_for = RetryFor::alone;
  std::optional<RetryOption> class_retry = {};  // for settle_failure(), if no library of this process has the class
};

// The decision, as the wire specification describes it in section 5.2.
struct Verdict {
  enum class Kind {
    retry,      // ZADD retry `at` `payload`
    exhausted,  // ask the exhausted hook, then after_exhaustion()
    discarded,  // stored nowhere; death handlers run
  } kind = Kind::retry;
  Payload payload;  // with its error members; for `retry: false` unchanged
  WallTime at{};    // when to retry
};

// The retry_count after this failure: 0 for the first one, else one more than before.  Hooks are given it.
std::int64_t failure_count(const Payload& job);

// Decides what becomes of a failed job.  `fetched_from` is the queue's bare name.  `class_retry` is the option of the
// job class, used only for a failure from_job, if the payload has no `retry`, or the `true` that Active Job writes into
// each of its payloads; nullopt: not known, which counts as Sidekiq's default `true`.  `jitter`
// is a number in [0, 1) that picks the jitter.  The hook's answer counts only while retries are left: the hook of an
// exhausted job is not asked.
Verdict judge_failure(const Payload& job, const Failure& failure, const HookAnswer& hook,
                      std::optional<RetryOption> class_retry, std::string_view fetched_from, WallTime now,
                      double jitter, const RetryPolicy& policy);

// For a job that an operator has ended and that is to be retried, whatever its `retry` is.  Its payload records the
// reason, and no count changes.
Verdict retry_uncharged(const Payload& job, const Failure& failure, std::string_view fetched_from, WallTime now,
                        double jitter);

// The job with only the record of a failure, for one that goes to the dead set unjudged: no count of it changes.
Payload with_failure(const Payload& job, const Failure& failure, WallTime now);

// Whether an exhausted job goes to the dead set: not if its exhausted hook discarded it, or its `dead` is false.
bool goes_to_dead(const Payload& job, bool hook_discarded);

// An exhausted job that does not go to the dead set, as its death handlers see it: with discarded_at.
Payload discarded(const Payload& job, WallTime now);

// Sidekiq's error_backtrace: JSON array of lines, zlib, base64 without line breaks.
std::string encode_backtrace(const std::vector<std::string>& lines);
// Ignores line breaks; nullopt when it is not a backtrace, or is larger than `max_bytes` unpacked.
std::optional<std::vector<std::string>> decode_backtrace(std::string_view text, std::size_t max_bytes = 1 << 20);

}  // namespace brood
