#include "shared/api/push/unique_jobs.hpp"

#include <algorithm>
#include <utility>

#include "shared/job/payload.hpp"
#include "shared/redis/size_refusals.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/queues/push_unique.hpp"
#include "shared/store/scan.hpp"

namespace brood {
namespace {

constexpr std::size_t most_unique_bytes = bytes_always_taken - 20'000;

// An attempt fails if the holder has moved meanwhile, or another job has taken its lock.
constexpr int most_attempts_to_replace = 10;

Reply run_push(ClientConnection& redis, const ScriptCall& call) {
  Reply reply = std::move(redis.push({call.command()}).front());
  if (reply.view().is_error()) redis.refuse(call.keys.front().name(), reply.view().error());
  return reply;
}

UniqueJob unique_job(const ClientPush& job) {
  return {.lock = job.lock->name,
          .jid = job.jid,
          .longest = job.lock->longest,
          .score_text = job.score ? score_text(*job.score) : std::string(),
          .payload = job.payload,
          .on_conflict = job.lock->on_conflict};
}

std::string place_of(const ClientPush& job) { return job.score ? std::string() : job.queue; }

// Returns the jid of the job that holds its lock; empty if the job was pushed, now or earlier under that number.
std::string push_alone(ClientConnection& redis, const ClientPush& job, const std::optional<BatchNumber>& batch) {
  const ScriptCall call = batch ? push_unique_once(*batch, place_of(job), {unique_job(job)})
                                : push_unique(place_of(job), {unique_job(job)});
  const std::vector<std::string> holders = read_holders(run_push(redis, call).view());
  return holders.empty() ? std::string() : holders.front();
}

// The queues in which a job like this one may wait: its own, and that of its retries.
std::vector<std::string> queues_of(const ClientPush& job) {
  std::vector<std::string> queues{job.queue};
  const auto of_retries = Payload::parse(job.payload).string("retry_queue");
  if (of_retries && !of_retries->empty() && *of_retries != job.queue) queues.push_back(*of_retries);
  return queues;
}

// A running job is never replaced: this job is dropped then, and gets the holder's jid.
void replace(ClientConnection& redis, ClientPush& job, const std::optional<BatchNumber>& batch) {
  std::string& holder = *job.lock->holder;
  const auto holds_it = [&] { return holder.empty() || holder == job.jid; };
  const std::vector<std::string> queues = queues_of(job);
  for (int attempt = 0; attempt < most_attempts_to_replace; ++attempt) {
    const std::vector<std::string> set_aside = read_name_list(redis.call(ask_set_aside()).view());
    const auto waiting = find_waiting_holder([&](const ScriptCall& call) { return redis.run(call); }, queues, set_aside,
                                             job.lock->name, holder);
    if (waiting &&
        read_replaced(run_push(redis, replace_unique(place_of(job), *waiting, unique_job(job), batch)).view())) {
      holder.clear();
      return;
    }
    const std::string before = holder;
    holder = push_alone(redis, job, batch);
    if (holds_it() || (!waiting && holder == before)) return;
  }
}

}  // namespace

bool replaces(const ClientPush& job) { return job.lock && job.lock->on_conflict == OnConflict::replace; }

std::size_t unique_slice(std::span<const ClientPush> jobs) {
  std::size_t count = 0, bytes = 0;
  for (const ClientPush& job : jobs.first(std::min(jobs.size(), max_unique_jobs_pushed))) {
    bytes += job.payload.size();
    const bool other_place =
        job.score.has_value() != jobs.front().score.has_value() || (!job.score && job.queue != jobs.front().queue);
    if (!job.lock || (count > 0 && (other_place || bytes > most_unique_bytes))) break;
    ++count;
  }
  return count;
}

std::vector<UniqueJob> unique_jobs(std::span<const ClientPush> jobs) {
  std::vector<UniqueJob> unique;
  for (const ClientPush& job : jobs) unique.push_back(unique_job(job));
  return unique;
}

void settle_conflicts(ClientConnection& redis, std::span<ClientPush> jobs, const std::vector<std::string>& holders,
                      const std::optional<BatchNumber>& batch) {
  if (holders.empty()) {
    for (ClientPush& job : jobs) {
      if (replaces(job)) job.lock->holder->clear();  // an earlier call returned it, and the reply was lost
    }
    return;
  }
  for (std::size_t i = 0; i < holders.size() && i < jobs.size(); ++i) *jobs[i].lock->holder = holders[i];
  std::optional<NotConfirmed> unconfirmed;
  for (ClientPush& job : jobs) try {
      const std::string& holder = *job.lock->holder;
      if (replaces(job) && !holder.empty() && holder != job.jid) replace(redis, job, batch);
    } catch (const NotConfirmed& error) {  // it was applied; the others have their turn too
      unconfirmed = error;
    }
  if (unconfirmed) throw *unconfirmed;
}

}  // namespace brood
