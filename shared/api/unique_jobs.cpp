#include "shared/api/unique_jobs.hpp"

#include <algorithm>

#include "shared/job/payload.hpp"
#include "shared/redis/size_refusals.hpp"

namespace brood {
namespace {

constexpr std::size_t most_unique_bytes = bytes_always_taken - 20'000;

}  // namespace

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
  for (const ClientPush& job : jobs)
    unique.push_back(
        {job.lock->name, job.jid, job.lock->longest, job.score ? score_text(*job.score) : std::string(), job.payload});
  return unique;
}

void note_holders(std::span<ClientPush> jobs, const std::vector<std::string>& holders) {
  for (std::size_t i = 0; i < holders.size() && i < jobs.size(); ++i) *jobs[i].lock->holder = holders[i];
}

}  // namespace brood
