#include "shared/store/queues/queue_sizes.hpp"

#include <algorithm>

#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/queues/queue_jobs.hpp"
#include "shared/store/tenants/tenants.hpp"

namespace brood {

namespace scripts {
extern const Script queue_sizes;
}

std::vector<std::vector<std::string>> slices_to_size(const std::vector<std::string>& queues) {
  std::vector<std::vector<std::string>> slices;
  for (std::size_t i = 0; i < queues.size(); i += max_queues_sized) {
    const auto first = queues.begin() + static_cast<std::ptrdiff_t>(i);
    slices.emplace_back(first, first + static_cast<std::ptrdiff_t>(std::min(max_queues_sized, queues.size() - i)));
  }
  return slices;
}

ScriptCall queue_sizes(const std::vector<std::string>& queues) {
  ScriptCall call{&scripts::queue_sizes, {}, {}};
  const std::size_t count = std::min(queues.size(), max_queues_sized);
  for (std::size_t i = 0; i < count; ++i) call.keys.push_back(key_of_jobs(queues[i]));
  return call;
}

QueueSizes read_queue_sizes(const std::vector<std::string>& queues, ReplyView reply) {
  const auto name = [&](ReplyView position) -> const std::string& {
    const auto i = static_cast<std::size_t>(position.integer()) - 1;
    if (i >= queues.size()) throw UnexpectedReply("a queue that nobody asked for");
    return queues[i];
  };
  QueueSizes sizes;
  const ReplyView filled = reply[0], no_lists = reply[1];
  for (std::size_t i = 0; i + 1 < filled.size(); i += 2)
    sizes.filled.push_back({name(filled[i]), filled[i + 1].integer()});
  for (std::size_t i = 0; i < no_lists.size(); ++i) sizes.no_lists.push_back(name(no_lists[i]));
  return sizes;
}

std::vector<Command> ask_queue_glances(const std::vector<std::string>& queues, AskPaused ask_paused) {
  std::vector<Command> commands;
  for (const std::string& queue : queues) {
    commands.push_back(ask_queue_length(queue));
    commands.push_back(ask_next_job(queue));
    if (ask_paused == AskPaused::yes) commands.push_back(ask_is_paused(queue));
  }
  return commands;
}

std::vector<QueueGlance> read_queue_glances(std::span<const Reply> replies, AskPaused asked_paused) {
  const std::size_t of_each = asked_paused == AskPaused::yes ? 3 : 2;
  std::vector<QueueGlance> glances;
  for (std::size_t i = 0; i + of_each <= replies.size(); i += of_each) {
    QueueGlance glance;
    if (const ReplyView length = replies[i].view(); length.is_integer()) glance.jobs = length.integer();
    if (const ReplyView next = replies[i + 1].view(); next.is_string()) glance.next_job = next.text();
    if (asked_paused == AskPaused::yes) glance.paused = lenient_number<int>(replies[i + 2].view()) == 1;
    glances.push_back(std::move(glance));
  }
  return glances;
}

}  // namespace brood
