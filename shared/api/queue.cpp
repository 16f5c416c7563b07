#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/api/page_size.hpp"
#include "shared/api/pages.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/queues/pausing.hpp"
#include "shared/store/queues/queue_jobs.hpp"

namespace brood {
namespace {

// How many jobs may join a queue between reading a page and removing jobs of that page, before these are missed.
constexpr std::size_t slack = 1000;
constexpr auto longest_batch = std::chrono::milliseconds(50);

// Removes them in calls of bounded length; returns how many were removed.
std::size_t remove_all(detail::ApiState& state, const std::string& queue, std::vector<QueuedJob> jobs) {
  std::size_t removed = 0;
  // Starts at the tail: a removal there does not move the jobs nearer to the head.
  while (!jobs.empty()) {
    const std::size_t first = jobs.size() > max_jobs_removed ? jobs.size() - max_jobs_removed : 0;
    const std::vector<QueuedJob> some(std::make_move_iterator(jobs.begin() + static_cast<std::ptrdiff_t>(first)),
                                      std::make_move_iterator(jobs.end()));
    const Removed answer = state.converse(
        [&](ClientConnection& redis) { return read_removed(redis.run(remove_jobs(queue, some, slack)).view()); });
    removed += answer.removed;
    jobs.resize(first);
    jobs.insert(jobs.end(), some.end() - static_cast<std::ptrdiff_t>(std::min(answer.unseen, some.size())), some.end());
  }
  return removed;
}

// The list decides the queue, whatever the payload says: as in Sidekiq, and as for the worker that fetches the job.
JobRecord read_job(std::string payload, const std::string& queue) {
  JobRecord job = JobRecord::read(std::move(payload));
  job.queue = queue;
  return job;
}

std::size_t bytes_of(const std::vector<std::string>& payloads) {
  std::size_t bytes = 0;
  for (const std::string& payload : payloads) bytes += payload.size();
  return bytes;
}

}  // namespace

Queue::Queue(std::shared_ptr<detail::ApiState> state, std::string name)
    : state_(std::move(state)), name_(std::move(name)) {}

std::size_t Queue::size() const {
  return state_->converse([&](ClientConnection& redis) {
    return static_cast<std::size_t>(redis.call(ask_queue_length(name_)).view().integer());
  });
}

double Queue::latency() const {
  const Reply reply = state_->converse([&](ClientConnection& redis) { return redis.call(ask_next_job(name_)); });
  const auto next = read_next_job(reply.view());
  return next ? latency_of(*next) : 0;
}

void Queue::each(const std::function<bool(const JobRecord&)>& visit) const {
  QueuePosition position;
  for (PageSize page_size(250);;) {
    QueuePage page = state_->converse([&](ClientConnection& redis) {
      return read_queue_page(redis.run(queue_page(name_, position, page_size.next())).view());
    });
    if (page.payloads.empty()) return;
    position = {page.first + page.payloads.size(), page.size};
    page_size.saw(page.payloads.size(), bytes_of(page.payloads));
    for (std::string& payload : page.payloads) {
      if (!visit(read_job(std::move(payload), name_))) return;
    }
  }
}

std::vector<JobRecord> Queue::page(std::size_t number, std::size_t per_page) const {
  const PageRange range = page_range(number, per_page);
  const Reply reply = state_->converse(
      [&](ClientConnection& redis) { return redis.call(ask_jobs_at(name_, range.first, range.last)); });
  std::vector<JobRecord> jobs;
  for (std::string& payload : read_jobs_at(reply.view())) jobs.push_back(read_job(std::move(payload), name_));
  return jobs;
}

std::optional<JobRecord> Queue::find(std::string_view jid) const {
  std::optional<JobRecord> found;
  if (jid.empty()) return found;
  each([&](const JobRecord& job) {
    if (job.jid == jid) found = job;
    return !found;
  });
  return found;
}

bool Queue::remove(const JobRecord& job) {
  return state_->converse(
      [&](ClientConnection& redis) { return read_job_was_removed(redis.call(remove_job(name_, job.payload)).view()); });
}

BulkResult Queue::remove_if(const std::function<bool(const JobRecord&)>& wanted, const Progress& progress) {
  BulkResult result;
  const std::size_t total = size();
  QueuePosition position;
  std::vector<QueuedJob> batch;
  SteadyTime oldest{};  // when the first of them was read
  const auto remove_batch = [&] {
    const std::size_t removed = remove_all(*state_, name_, std::exchange(batch, {}));
    result.done += removed;
    position.behind -= std::min(removed, position.behind);
    if (position.size) *position.size -= std::min(removed, *position.size);
  };
  for (PageSize page_size(250); !result.stopped;) {
    QueuePage page = state_->converse([&](ClientConnection& redis) {
      return read_queue_page(redis.run(queue_page(name_, position, page_size.next())).view());
    });
    if (page.payloads.empty()) break;
    const std::size_t count = page.payloads.size();
    page_size.saw(count, bytes_of(page.payloads));
    position = {page.first + count, page.size};
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted && !wanted(read_job(page.payloads[i], name_))) continue;
      if (batch.empty()) oldest = steady_now();
      batch.push_back({page.first + i, std::move(page.payloads[i])});
      ++result.wanted;
    }
    result.looked_at += count;
    if (batch.size() >= max_jobs_removed || (!batch.empty() && steady_now() - oldest > longest_batch)) remove_batch();
    result.stopped = progress && !progress(result.looked_at, total);
  }
  remove_batch();
  result.gone = result.wanted - result.done;
  return result;
}

void Queue::clear() {
  state_->converse([&](ClientConnection& redis) { redis.transaction(clear_queue(name_)); });
}

bool Queue::paused() const {
  return state_->converse(
      [&](ClientConnection& redis) { return read_is_paused(redis.call(ask_is_paused(name_)).view()); });
}

void Queue::pause() {
  state_->converse([&](ClientConnection& redis) { redis.call(pause_queue(name_)); });
}

void Queue::unpause() {
  state_->converse([&](ClientConnection& redis) { redis.call(unpause_queue(name_)); });
}

}  // namespace brood
