#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/api/entries.hpp"
#include "shared/api/entry_moves.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/marked_jobs.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/queues/queue_jobs.hpp"
#include "shared/store/take_aside.hpp"

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

// The list decides the queue, not the payload: as in Sidekiq, and as for the worker that fetches the job.
JobRecord read_job(std::string payload, const std::string& queue, const detail::ApiState& shard) {
  JobRecord job = JobRecord::read(std::move(payload));
  job.queue = queue;
  job.shard = shard.shard();
  return job;
}

std::size_t bytes_of(const std::vector<std::string>& payloads) {
  std::size_t bytes = 0;
  for (const std::string& payload : payloads) bytes += payload.size();
  return bytes;
}

std::size_t queue_size(detail::ApiState& state, const std::string& queue) {
  return state.converse([&](ClientConnection& redis) {
    return static_cast<std::size_t>(redis.call(ask_queue_length(queue)).view().integer());
  });
}

double latency_in(detail::ApiState& state, const std::string& queue) {
  const Reply reply = state.converse([&](ClientConnection& redis) { return redis.call(ask_next_job(queue)); });
  const auto next = read_next_job(reply.view());
  return next ? latency_of(*next) : 0;
}

// Returns false if `visit` wants no more.
bool visit_jobs(detail::ApiState& state, const std::string& queue, const std::function<bool(const JobRecord&)>& visit) {
  QueuePosition position;
  for (PageSize page_size(250);;) {
    QueuePage page = state.converse([&](ClientConnection& redis) {
      return read_queue_page(redis.run(queue_page(queue, position, page_size.next())).view());
    });
    if (page.payloads.empty()) return true;
    position = {page.first + page.payloads.size(), page.size};
    page_size.saw(page.payloads.size(), bytes_of(page.payloads));
    for (std::string& payload : page.payloads) {
      if (!visit(read_job(std::move(payload), queue, state))) return false;
    }
  }
}

void add_jobs(detail::ApiState& state, const std::string& queue, const PageRange& range, std::vector<JobRecord>& jobs) {
  const Reply reply =
      state.converse([&](ClientConnection& redis) { return redis.call(ask_jobs_at(queue, range.first, range.last)); });
  for (std::string& payload : read_jobs_at(reply.view())) jobs.push_back(read_job(std::move(payload), queue, state));
}

BulkResult remove_jobs_if(detail::ApiState& state, const std::string& queue,
                          const std::function<bool(const JobRecord&)>& wanted, const Progress& progress) {
  BulkResult result;
  const std::size_t total = queue_size(state, queue);
  QueuePosition position;
  std::vector<QueuedJob> batch;
  SteadyTime oldest{};  // when the first of them was read
  const auto remove_batch = [&] {
    const std::size_t removed = remove_all(state, queue, std::exchange(batch, {}));
    result.done += removed;
    position.behind -= std::min(removed, position.behind);
    if (position.size) *position.size -= std::min(removed, *position.size);
  };
  for (PageSize page_size(250); !result.stopped;) {
    QueuePage page = state.converse([&](ClientConnection& redis) {
      return read_queue_page(redis.run(queue_page(queue, position, page_size.next())).view());
    });
    if (page.payloads.empty()) break;
    const std::size_t count = page.payloads.size();
    page_size.saw(count, bytes_of(page.payloads));
    position = {page.first + count, page.size};
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted && !wanted(read_job(page.payloads[i], queue, state))) continue;
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

// One by one, so that each lets go of what it holds.
void remove_holding_jobs(detail::ApiState& state, const std::string& queue) {
  std::vector<QueuedJob> holders;
  for (std::size_t first = 0;;) {
    const MarkedJobs page = state.converse([&](ClientConnection& redis) {
      return read_marked_jobs(redis.run(holding_jobs_of_queue(queue, first)).view());
    });
    if (page.looked_at == 0) break;
    for (const MarkedJob& job : page.jobs) holders.push_back({job.position, job.payload});
    first += page.looked_at;
  }
  remove_all(state, queue, std::move(holders));
}

}  // namespace

Queue::Queue(std::shared_ptr<detail::ApiShards> shards, std::string name)
    : shards_(std::move(shards)), name_(std::move(name)) {}

std::size_t Queue::size() const {
  return shards_->sum([&](detail::ApiState& shard) { return queue_size(shard, name_); });
}

double Queue::latency() const {
  double most = 0;
  shards_->each([&](detail::ApiState& shard) { most = std::max(most, latency_in(shard, name_)); });
  return most;
}

void Queue::each(const std::function<bool(const JobRecord&)>& visit) const {
  bool goes_on = true;
  shards_->each([&](detail::ApiState& shard) { goes_on = goes_on && visit_jobs(shard, name_, visit); });
}

std::vector<JobRecord> Queue::page(std::size_t number, std::size_t per_page) const {
  std::vector<JobRecord> jobs;
  const PageRange range = page_range(number, per_page);
  if (!shards_->several()) {
    add_jobs(shards_->only(), name_, range, jobs);
    return jobs;
  }
  // One shard's jobs lie behind those of the one before.
  std::size_t skipped = number * per_page;
  shards_->each([&](detail::ApiState& shard) {
    const std::size_t here = queue_size(shard, name_);
    if (jobs.size() < per_page && skipped < here)
      add_jobs(shard, name_, {std::to_string(skipped), std::to_string(skipped + per_page - jobs.size() - 1)}, jobs);
    skipped -= std::min(skipped, here);
  });
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
  return shards_->any(job.shard, [&](detail::ApiState& shard) {
    return shard.converse([&](ClientConnection& redis) {
      const Reply removed = may_hold(job.payload) ? redis.run(remove_holding_job(name_, job.payload))
                                                  : redis.call(remove_job(name_, job.payload));
      return read_job_was_removed(removed.view());
    });
  });
}

BulkResult Queue::remove_if(const std::function<bool(const JobRecord&)>& wanted, const Progress& progress) {
  return change_each(
      *shards_, progress, [&](detail::ApiState& shard) { return queue_size(shard, name_); },
      [&](detail::ApiState& shard, const Progress& progress_here) {
        return remove_jobs_if(shard, name_, wanted, progress_here);
      });
}

// Jobs pushed meanwhile make a new list.  The rest of an earlier call, whose process ended, is removed first.
std::size_t Queue::clear() {
  const std::string aside = queue_aside(name_);
  return shards_->sum([&](detail::ApiState& shard) {
    std::size_t deleted = 0;
    for (TakenAside aside_now{}; !aside_now.taken;) {
      aside_now = shard.converse(
          [&](ClientConnection& redis) { return read_taken_aside(redis.run(take_queue_aside(name_)).view()); });
      remove_holding_jobs(shard, aside);
      shard.converse([&](ClientConnection& redis) { redis.call(drop_queue(aside)); });
      deleted += aside_now.jobs;
    }
    return deleted;
  });
}

bool Queue::paused() const {
  return shards_->any("", [&](detail::ApiState& shard) {
    return shard.converse(
        [&](ClientConnection& redis) { return read_is_paused(redis.call(ask_is_paused(name_)).view()); });
  });
}

void Queue::pause() {
  shards_->each([&](detail::ApiState& shard) {
    shard.converse([&](ClientConnection& redis) { redis.call(pause_queue(name_)); });
  });
}

void Queue::unpause() {
  shards_->each([&](detail::ApiState& shard) {
    shard.converse([&](ClientConnection& redis) { redis.call(unpause_queue(name_)); });
  });
}

}  // namespace brood
