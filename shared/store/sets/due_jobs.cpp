#include "shared/store/sets/due_jobs.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shared/store/keys.hpp"

namespace brood {

ScriptCall move_due(std::string_view set_key, std::vector<DueJob> jobs) {
  if (jobs.empty() || jobs.size() > max_jobs_moved) throw std::invalid_argument("move_due takes 1 to 250 jobs");
  std::stable_sort(jobs.begin(), jobs.end(), [](const DueJob& a, const DueJob& b) { return a.queue < b.queue; });

  ScriptCall call{&scripts::move_due, {RedisKey(set_key), keys::queues}, {}};
  call.args.reserve(4 * jobs.size());
  for (auto first = jobs.begin(); first != jobs.end();) {
    const auto last = std::find_if(first, jobs.end(), [&](const DueJob& job) { return job.queue != first->queue; });
    call.keys.push_back(keys::queue(first->queue));
    call.args.push_back(std::to_string(last - first));
    first = last;
  }
  for (const DueJob& job : jobs) call.args.emplace_back(job.member);
  for (const DueJob& job : jobs) call.args.emplace_back(job.score_text);
  for (DueJob& job : jobs) call.args.push_back(std::move(job.payload_to_push));
  return call;
}

MoveCounts read_moved(ReplyView reply) {
  const auto count = [&](std::size_t i) { return static_cast<std::size_t>(reply[i].integer()); };
  return {count(0), count(1), count(2)};
}

}  // namespace brood
