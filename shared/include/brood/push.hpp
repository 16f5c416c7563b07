#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/options.hpp>

// The symbols that libbrood exports.
#define BROOD_API __attribute__((visibility("default")))

namespace brood {

// A push of a job that is given by its parts, for classes that this program does not have as C++ types.
struct BROOD_API Push {
  std::string job_class;          // 1 to 255 bytes without spaces, control characters and < > & " '
  std::string args = "[]";        // a JSON array
  std::string queue = "default";  // 1 to 255 of A-Z a-z 0-9 _ . : @ / ~ -
  YesNoOrCount retry = true;      // true: max_retries of the server
  std::optional<std::chrono::system_clock::time_point> at = {};  // schedules the job for exactly this time
  std::string jid = {};  // characters as in job_class; empty: 24 random hex digits
  // Further members of the payload, each a name and a JSON text, such as {"tags", R"(["slow"])"}.  The members above
  // may not be among them.
  std::vector<std::pair<std::string, std::string>> members = {};
  // If there are several shards, jobs with the same text go to the same shard, whichever program pushes them.  Empty:
  // the job goes to the next shard that answers.  The text is not part of the payload.
  std::string shard_by = {};

  // Reads {"class": ..., "args": [...], "queue": ..., ...}: the payload of a push, with `at` in epoch seconds.
  // Ignores `enqueued_at`, since every push writes its own.  Throws std::invalid_argument for other JSON; the message
  // is a sentence.
  static Push parse(std::string_view json);
};

// The options of a bulk.
struct BulkOptions {
  // Schedules each job for a random time of its own between now and now plus this, at least 5 s.  Throws
  // std::invalid_argument if it is not positive, or if a push has a time.
  std::optional<std::chrono::milliseconds> spread = {};
  std::size_t batch_size = 0;  // number of jobs that one command pushes; 0: 1,000, for scheduled jobs 100
};

}  // namespace brood
