#pragma once

#include <brood/batch.hpp>
#include <brood/client.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/cli/jobs/job_lines.hpp"

namespace brood {

// A batch whose jobs are the lines of a file.
struct BatchOfLines {
  std::string path;  // "-": standard input
  std::optional<std::string> description, parent, callback_queue;
  std::vector<std::pair<BatchEvent, std::string>> callbacks;  // each "CLASS" or "CLASS:JSON-ARRAY"
  bool unchecked = false;
  ClassChecks* classes = nullptr;  // by which jobs and callbacks go
};

struct PushedBatch {
  std::string bid;
  std::size_t jobs = 0;  // in the batch, or refused because other jobs hold their locks
};

// "Ruby::Alarm:[7]", which goes by its class if `classes` is not null.  Throws UsageError.
Push callback_of(const std::string& text, const std::optional<std::string>& queue, ClassChecks* classes = nullptr);

// Pushes all lines as one batch, or none.  A file is checked as a whole before anything is sent.  If a line of input
// that can be read only once is wrong, the batch is cancelled.  Throws std::invalid_argument, which names the line;
// BatchClosed for a parent that takes no more children; RedisError.
PushedBatch push_batch(Client& client, const BatchOfLines& batch);

}  // namespace brood
