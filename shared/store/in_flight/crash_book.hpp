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

// The innermost frame of the job's own code, without its number; empty if no stack is known.
std::string top_frame(const Crash& crash);

// How many fingerprints the book holds, and for how long: the oldest leave first.
inline constexpr int max_noted_crashes = 200;
inline constexpr int days_of_crashes = 14;  // each with its own count
inline constexpr std::int64_t crashes_are_kept_s = std::int64_t{90} * 86'400;

// Adds a crash to the book that all supervisors of one Redis share.  A stack with names outlives later ones without.
// Throws ConnectionLost or UnexpectedReply.
void note_crash(Channel& redis, const Crash& crash);

// The crashes in the book, the latest first.  Entries that cannot be read are left out.
std::vector<Crash> read_crashes(Channel& redis);
std::vector<Crash> read_crashes(Channel& redis, WallTime today);

// A text that changes with every crash.  It costs one cheap command: read the book again only when it has changed.
// Throws as read_crashes() does.
std::string latest_crash_mark(Channel& redis);

}  // namespace brood
