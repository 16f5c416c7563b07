#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/options.hpp>

// What libbrood exports.
#define BROOD_API __attribute__((visibility("default")))

namespace brood {

// A job by its parts, for classes that this program does not know as C++ types.
struct BROOD_API Push {
  std::string job_class;          // 1 to 255 bytes without spaces, control characters and < > & " '
  std::string args = "[]";        // a JSON array
  std::string queue = "default";  // 1 to 255 of A-Z a-z 0-9 _ . : @ / -
  YesNoOrCount retry = true;      // true: as often as the server says
  std::optional<std::chrono::system_clock::time_point> at = {};  // into the schedule, with exactly this time
  std::string jid = {};                                          // as a class's name; empty: 24 random hex digits
  // Further members of the payload: name and JSON text, such as {"tags", R"(["slow"])"}.  None of the above may be
  // among them.
  std::vector<std::pair<std::string, std::string>> members = {};
  // Where there are several shards: jobs with the same text go to the same one, whatever program pushes them.  Empty:
  // to the next one that answers.  No payload has it.
  std::string shard_by = {};

  // Reads {"class": ..., "args": [...], "queue": ..., ...}: the payload of a push, with `at` in epoch seconds.  An
  // `enqueued_at` is left out: every push writes its own.  Throws std::invalid_argument with a sentence.
  static Push parse(std::string_view json);
};

// How many pushes are sent at once.
struct BulkOptions {
  // Each job at a random time of its own within so long from now, within 5 s at least.  Throws std::invalid_argument
  // with pushes that have a time, and when it is not positive.
  std::optional<std::chrono::milliseconds> spread = {};
  std::size_t batch_size = 0;  // jobs with one command; 0: 1,000, of scheduled ones 100
};

}  // namespace brood
