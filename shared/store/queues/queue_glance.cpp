#include "shared/store/queues/queue_glance.hpp"

#include "shared/store/lenient.hpp"
#include "shared/store/queues/pausing.hpp"
#include "shared/store/queues/queue_jobs.hpp"

namespace brood {

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
