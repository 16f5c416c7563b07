#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <brood/options.hpp>

namespace brood {

// The options of one call for its jobs.  An option that is not set has the value of the job's class.
//
//   client.enqueue(job, {.queue = "low", .retry = 3, .tags = {"by hand"}});
//   client.enqueue_bulk(jobs, {.timeout = 2min, .spread = 1h});
//
// C++ requires designated members in the order of this list.  Section 1.1 of Sidekiq's wire specification lists the
// members of the payload.  An invalid value (section 1.4) throws std::invalid_argument.
struct EnqueueOptions {
  std::optional<std::string> queue = {};                  // 1 to 255 of A-Z a-z 0-9 _ . : @ / ~ -
  std::optional<YesNoOrCount> retry = {};                 // false: a failed job is not stored
  std::optional<std::chrono::milliseconds> timeout = {};  // for one attempt, not negative; 0: no timeout
  std::optional<YesNoOrCount> backtrace = {};             // number of lines of a failure's backtrace that are stored
  std::optional<bool> dead = {};                          // false: an exhausted job is dropped
  std::vector<std::string> tags = {};                     // empty: those of the class
  std::optional<std::chrono::seconds> retry_for = {};     // seconds, at most 1,000,000,000; 0: not used
  std::optional<std::string> retry_queue = {};            // empty: the queue it failed in
  // See JobOptions::expires_in.  Not negative; 0: not used.
  std::optional<std::chrono::milliseconds> expires_in = {};
  // The same as a point in time, after 1970 and before the year 2255.  If both are set, expires_in is ignored.
  std::optional<std::chrono::system_clock::time_point> expires_at = {};
  std::optional<bool> encrypt = {};  // see JobOptions::encrypt
  std::string jid = {};              // empty: 24 random hex digits; not allowed for several jobs
  std::string display_class = {};    // shown instead of the class
  // Further members of the payload, each a name and a JSON text, such as {"bid", R"("b1")"}.  They replace members that
  // the options above set.
  std::vector<std::pair<std::string, std::string>> members = {};

  // Schedules each job for a random time of its own between now and now plus this, at least 5 s (section 2).  Not
  // allowed with a call that sets a time, nor for a step of a flow or a callback.
  std::optional<std::chrono::milliseconds> spread = {};
  std::size_t batch_size = 0;  // number of jobs that one command of a bulk pushes; 0: 1,000, for scheduled jobs 100
  std::string shard_by = {};   // as in Push
  // Whether the job is unique; see JobOptions::unique.
  std::optional<bool> unique = {};
  std::optional<std::chrono::seconds> unique_for = {};   // see JobOptions::unique_for; 0: not used
  std::optional<OnConflict> on_conflict = {};            // see JobOptions::on_conflict
  std::optional<std::chrono::seconds> keep_result = {};  // see JobOptions::keep_result; not negative

  // The name of the job's sequence, 1 to 255 bytes.  The jobs of one sequence run one after the other, in the order in
  // which they were pushed to their queue.  A failed job holds up the others until it succeeds, dies or is deleted.
  // With several shards all jobs of a sequence go to the same shard, unless shard_by is set.
  //
  //   client.enqueue(Post{7, "page 1"}, {.sequence = "account-7"});
  std::string sequence = {};   // empty: the job is in none
  std::string if_failed = {};  // "pass": while this job waits for a retry, the others go on; "wait" or empty: they wait
};

}  // namespace brood
