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
  ClassChecks* classes = nullptr;  // checks jobs and callbacks; null: no check
};

struct PushedBatch {
  std::string bid;
  std::size_t jobs = 0;  // in the batch, or refused because other jobs hold their locks
};

// Parses "Ruby::Alarm:[7]"; checks it against its class if `classes` is not null.  An unchecked one does not become
// unique by its class: a callback takes no lock.  Throws UsageError.
Push callback_of(const std::string& text, const std::optional<std::string>& queue, ClassChecks* classes = nullptr,
                 bool unchecked = false);

// Pushes all lines as one batch, or none.  Checks a regular file as a whole before it sends anything.  If the input can
// be read only once, a wrong line cancels the batch.  Throws std::invalid_argument, which names the line; BatchClosed
// if the parent takes no more children; RedisError.
PushedBatch push_batch(Client& client, const BatchOfLines& batch);

}  // namespace brood
