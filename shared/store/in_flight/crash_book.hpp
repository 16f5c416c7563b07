#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// The latest of all crashes with one fingerprint: same class, same way, same place.
struct Crash {
  std::string fingerprint;
  double at = 0;  // seconds since the epoch
  std::string job_class, error_class, message, jid, queue;
  std::string identity;                 // of the supervisor
  std::vector<std::string> frames;      // as lines; the first few
  bool has_names = false;               // the frames name functions; only note_crash() reads it
  std::int64_t count = 0;               // of this fingerprint; only read_crashes() sets it
  std::vector<std::int64_t> days = {};  // how many of them on each of the last days, UTC, today the last; as `count`
};

// The innermost of its frames that is the job's own, without its number; empty: no stack is known.
std::string top_frame(const Crash& crash);

// How many fingerprints the book holds, and for how long: the oldest leave first.
inline constexpr int max_noted_crashes = 200;
inline constexpr int days_of_crashes = 14;  // told apart
inline constexpr std::int64_t crashes_are_kept_s = std::int64_t{90} * 86'400;

// Adds a crash to the book that all supervisors of one Redis share.  A stack with names outlives later ones without.
// Throws ConnectionLost or UnexpectedReply.
void note_crash(Channel& redis, const Crash& crash);

// What the book holds, the latest first.  An entry that cannot be read is left out.
std::vector<Crash> read_crashes(Channel& redis);
std::vector<Crash> read_crashes(Channel& redis, WallTime today);

// Changes with every crash, and costs one cheap command: whoever watches the book reads it only after a change.  Throws
// as read_crashes does.
std::string latest_crash_mark(Channel& redis);

}  // namespace brood
