#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <brood/options.hpp>

namespace brood {

// What one call says of its jobs; where it says nothing, the options of their class hold.
//
//   client.enqueue(job, {.queue = "low", .retry = 3, .tags = {"by hand"}});
//   client.enqueue_bulk(jobs, {.timeout = 2min, .spread = 1h});
//
// C++ wants designated members in the order of this list.  What the payload makes of them is in section 1.1 of
// Sidekiq's wire specification; what it cannot be (section 1.4) is refused with std::invalid_argument.
struct EnqueueOptions {
  std::optional<std::string> queue = {};                  // 1 to 255 of A-Z a-z 0-9 _ . : @ / -
  std::optional<YesNoOrCount> retry = {};                 // false: a failure is stored nowhere
  std::optional<std::chrono::milliseconds> timeout = {};  // of one attempt, not negative; 0: none at all
  std::optional<YesNoOrCount> backtrace = {};             // how many lines of a failure's backtrace are stored
  std::optional<bool> dead = {};                          // false: an exhausted job is dropped
  std::vector<std::string> tags = {};                     // empty: the class's
  std::optional<std::chrono::seconds> retry_for = {};     // at most 1,000,000,000; 0: not used
  std::optional<std::string> retry_queue = {};            // empty: the queue it failed in
  // See JobOptions::expires_in; 0: not used, and not negative.
  std::optional<std::chrono::milliseconds> expires_in = {};
  // The same as a point in time after 1970 and before the year 2255, which wins.
  std::optional<std::chrono::system_clock::time_point> expires_at = {};
  std::optional<bool> encrypt = {};  // see JobOptions::encrypt
  std::string jid = {};              // empty: 24 random hex digits; not for a bulk of several
  std::string display_class = {};    // shown instead of the class
  // Further members of the payload, name and JSON text, such as {"bid", R"("b1")"}: they win over all of the above.
  std::vector<std::pair<std::string, std::string>> members = {};

  // Each job at a random time of its own within so long from now, within 5 s at least (section 2); not with a call that
  // says when.
  std::optional<std::chrono::milliseconds> spread = {};
  std::size_t batch_size = 0;  // jobs of a bulk with one command; 0: 1,000, of scheduled ones 100
  std::string shard_by = {};   // as in Push
  // Whether there is to be one of it, whatever its class says.
  std::optional<bool> unique = {};
  std::optional<std::chrono::seconds> unique_for = {};  // likewise; 0: not used
  std::optional<OnConflict> on_conflict = {};           // likewise
};

}  // namespace brood
