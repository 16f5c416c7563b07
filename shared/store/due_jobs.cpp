#include "shared/store/due_jobs.hpp"

#include <algorithm>

#include "shared/store/keys.hpp"

namespace brood {

ScriptCall move_due(std::string_view set_key, const std::vector<DueJob>& jobs) {
  ScriptCall call{&scripts::move_due, {std::string(set_key), std::string(keys::queues)}, {}};
  const std::size_t count = std::min(jobs.size(), max_jobs_moved);
  for (std::size_t i = 0; i < count; ++i) {
    call.keys.push_back(keys::queue(jobs[i].queue));
    call.args.insert(call.args.end(), {jobs[i].member, jobs[i].score_text, jobs[i].payload_to_push});
  }
  return call;
}

std::vector<MoveResult> read_moved(ReplyView reply) {
  std::vector<MoveResult> results;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    switch (reply[i].integer()) {
      case 1:
        results.push_back(MoveResult::moved);
        break;
      case 0:
        results.push_back(MoveResult::gone);
        break;
      default:
        results.push_back(MoveResult::bad_queue);
    }
  }
  return results;
}

}  // namespace brood
