#include "supervisor/cli/jobs/push_batch.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "shared/api/push/push_writer.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/config/queue_order.hpp"
#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {
namespace {

// The place of the colon behind the class: in "Ruby::Alarm:[7]" the last one.  npos: the text is a class alone.
std::size_t end_of_class(const std::string& text) {
  for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 2)) {
    if (at + 1 == text.size() || text[at + 1] != ':') return at;
  }
  return std::string::npos;
}

[[noreturn]] void refuse_line(const JobLines& lines, const std::invalid_argument& error, const char* what_now) {
  throw std::invalid_argument(fmt::format("{}: {}; {}", lines.place(), error.what(), what_now));
}

}  // namespace

Push callback_of(const std::string& text, const std::optional<std::string>& queue, ClassChecks* classes,
                 bool unchecked) {
  Push push;
  const std::size_t end = end_of_class(text);
  push.job_class = text.substr(0, end);
  if (end != std::string::npos) push.args = text.substr(end + 1);
  if (queue) push.queue = *queue;
  try {
    spell_as_ruby(push);
    if (classes != nullptr) classes->go_by(push, {.queue = queue.has_value()});
    if (unchecked) make_common(push);
    prepare_push(push, wall_now());
  } catch (const PushRefused& error) {
    throw UsageError(
        fmt::format("the callback \"{}\": {}", log::printable(text.substr(0, 80)), log::printable(error.what())));
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("the callback \"{}\" must be CLASS or CLASS:[JSON, ...]: {}",
                                 log::printable(text.substr(0, 80)), log::printable(error.what())));
  }
  return push;
}

PushedBatch push_batch(Client& client, const BatchOfLines& order) {
  const LineOptions options{.unchecked = order.unchecked, .classes = order.classes};
  Batch batch(client, {.description = order.description.value_or(""), .parent = order.parent.value_or("")});
  if (order.callback_queue && !is_safe_queue(*order.callback_queue))
    throw UsageError(
        fmt::format("--callback-queue: the queue's name \"{}\" has characters other than A-Z a-z 0-9 _ . : @ / ~ -, or "
                    "more than 255",
                    log::printable(order.callback_queue->substr(0, 80))));
  for (const auto& [event, callback] : order.callbacks) {
    Push push = callback_of(callback, order.callback_queue, order.classes, order.unchecked);
    try {
      batch.on(event, std::move(push));
    } catch (const std::invalid_argument& error) {
      throw UsageError(
          fmt::format("the callback \"{}\": {}", log::printable(callback.substr(0, 80)), log::printable(error.what())));
    }
  }

  JobLines lines(order.path, options);
  if (lines.can_be_read_twice()) {
    JobLines checked(order.path, options);
    try {
      while (checked.next()) continue;
    } catch (const std::invalid_argument& error) {
      refuse_line(checked, error, "nothing was pushed");
    }
  }
  PushedBatch pushed{batch.bid()};
  PushProgress progress(lines);
  batch.push([&](BatchJobs& jobs) {
    try {
      while (auto push = lines.next()) {
        jobs.push(*std::move(push));
        progress.show(++pushed.jobs);
      }
    } catch (const std::invalid_argument& error) {
      refuse_line(lines, error, "the batch is cancelled");
    }
  });
  return pushed;
}

}  // namespace brood
