#include "shared/store/queues/push_unique.hpp"

#include <stdexcept>
#include <utility>

#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script push_unique;
}

ScriptCall push_unique(std::string_view queue, std::vector<UniqueJob> jobs) {
  if (jobs.empty() || jobs.size() > max_unique_jobs_pushed)
    throw std::invalid_argument("push_unique takes 1 to 100 jobs");
  ScriptCall call{&scripts::push_unique, {}, {"", std::string(batch_number_kept_s)}};
  call.keys.push_back(queue.empty() ? RedisKey(keys::schedule) : keys::queue(queue));
  call.keys.push_back(keys::queues);
  for (UniqueJob& job : jobs) {
    call.keys.push_back(keys::unique_lock(job.lock));
    call.args.emplace_back(job.jid);
    call.args.push_back(std::to_string(job.longest.count()));
    call.args.push_back(std::move(job.score_text));
    call.args.push_back(std::move(job.payload));
    call.args.emplace_back(job.on_conflict == OnConflict::after     ? "after"
                           : job.on_conflict == OnConflict::extend  ? "extend"
                           : job.on_conflict == OnConflict::replace ? "replace"
                                                                    : "");
  }
  return call;
}

ScriptCall push_unique_once(const BatchNumber& batch, std::string_view queue, std::vector<UniqueJob> jobs) {
  ScriptCall call = push_unique(queue, std::move(jobs));
  call.keys.push_back(keys::pushes(batch.client));
  call.args[0] = std::to_string(batch.number);
  return call;
}

std::vector<std::string> read_holders(ReplyView reply) {
  std::vector<std::string> holders;
  for (std::size_t i = 0; i < reply.size(); ++i) holders.emplace_back(reply[i].text());
  return holders;
}

Command ask_holder(std::string_view lock) { return {"GET", keys::unique_lock(lock)}; }

std::string read_holder(ReplyView reply) { return reply.is_nil() ? std::string() : std::string(reply.text()); }

}  // namespace brood
