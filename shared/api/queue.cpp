#include <algorithm>
#include <stdexcept>

#include "shared/api/api_state.hpp"
#include "shared/api/page_size.hpp"
#include "shared/api/pages.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/queue_jobs.hpp"

namespace brood {
namespace {

// How many jobs may join a queue between the reading of a page and the removal of what is unwanted in it, without that
// these are missed.
constexpr std::size_t slack = 1000;

// The queue's name counts, whatever the payload says: as in Sidekiq, and as for whoever fetches it.
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
    return static_cast<std::size_t>(redis.call({"LLEN", keys::queue(name_)}).view().integer());
  });
}

double Queue::latency() const {
  const Reply next = state_->converse([&](ClientConnection& redis) {
    return redis.call({"LINDEX", keys::queue(name_), "-1"});
  });
  return next.view().is_nil() ? 0 : latency_of(next.view().text());
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
  const Reply reply = state_->converse([&](ClientConnection& redis) {
    return redis.call({"LRANGE", keys::queue(name_), range.first, range.last});
  });
  std::vector<JobRecord> jobs;
  for (std::size_t i = 0; i < reply.view().size(); ++i)
    jobs.push_back(read_job(std::string(reply.view()[i].text()), name_));
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
  return state_->converse([&](ClientConnection& redis) {
    return redis.call({"LREM", keys::queue(name_), "1", job.payload}).view().integer() > 0;
  });
}

BulkResult Queue::remove_if(const std::function<bool(const JobRecord&)>& wanted, const Progress& progress) {
  BulkResult result;
  const std::size_t total = size();
  QueuePosition position;
  for (PageSize page_size(250);;) {
    const QueuePage page = state_->converse([&](ClientConnection& redis) {
      return read_queue_page(redis.run(queue_page(name_, position, page_size.next())).view());
    });
    if (page.payloads.empty()) return result;
    page_size.saw(page.payloads.size(), bytes_of(page.payloads));

    std::vector<QueuedJob> unwanted;
    for (std::size_t i = 0; i < page.payloads.size(); ++i) {
      if (!wanted || wanted(read_job(page.payloads[i], name_))) unwanted.push_back({page.first + i, page.payloads[i]});
    }
    std::size_t removed = 0;
    if (!unwanted.empty()) {
      removed = state_->converse([&](ClientConnection& redis) {
        return static_cast<std::size_t>(redis.run(remove_jobs(name_, unwanted, slack)).view().integer());
      });
    }
    result.looked_at += page.payloads.size();
    result.wanted += unwanted.size();
    result.done += removed;
    result.gone += unwanted.size() - removed;
    position = {page.first + page.payloads.size() - removed, page.size - removed};
    if (progress && !progress(result.looked_at, total)) {
      result.stopped = true;
      return result;
    }
  }
}

void Queue::clear() {
  state_->converse([&](ClientConnection& redis) {
    redis.transaction({{"UNLINK", keys::queue(name_)}, {"SREM", keys::queues, name_}});
  });
}

bool Queue::paused() const {
  return state_->converse([&](ClientConnection& redis) {
    return redis.call({"SISMEMBER", keys::paused, name_}).view().integer() == 1;
  });
}

void Queue::pause() {
  state_->converse([&](ClientConnection& redis) { redis.call({"SADD", keys::paused, name_}); });
}

void Queue::unpause() {
  state_->converse([&](ClientConnection& redis) { redis.call({"SREM", keys::paused, name_}); });
}

}  // namespace brood
