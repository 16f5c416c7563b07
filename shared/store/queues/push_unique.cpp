#include "shared/store/queues/push_unique.hpp"

#include <stdexcept>
#include <utility>

#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/marked_jobs.hpp"

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

namespace scripts {
extern const Script replace_unique;
}

std::optional<WaitingHolder> find_waiting_holder(const std::function<Reply(const ScriptCall&)>& run,
                                                 const std::vector<std::string>& queues,
                                                 const std::vector<std::string>& set_aside, std::string_view lock,
                                                 std::string_view jid) {
  const std::string mark = '"' + std::string(jid) + '"';
  for (const PlaceOfJobs& place : places_of_waiting_jobs(queues, set_aside)) {
    for (std::size_t first = 0;;) {
      MarkedJobs page = read_marked_jobs(run(marked_jobs(place.key, first, {mark})).view());
      for (MarkedJob& job : page.jobs) {
        const auto held = lock_named_by(job.payload);
        if (held && held->lock == lock && held->jid == jid)
          return WaitingHolder{std::string(jid), std::move(job.payload), place, std::move(job.score_text)};
      }
      if (page.looked_at == 0) break;
      first += page.looked_at;
    }
  }
  return std::nullopt;
}

ScriptCall replace_unique(std::string_view queue, const WaitingHolder& holder, const UniqueJob& job,
                          const std::optional<BatchNumber>& batch) {
  const bool waits_beside = !queue.empty() && holder.place.home == queue;
  ScriptCall call{&scripts::replace_unique,
                  {keys::unique_lock(job.lock), holder.place.key,
                   queue.empty()  ? RedisKey(keys::schedule)
                   : waits_beside ? holder.place.key
                                  : keys::queue(queue),
                   keys::queues},
                  {holder.jid, holder.payload, holder.score_text, std::string(job.jid),
                   std::to_string(job.longest.count()), job.score_text, job.payload}};
  if (batch) {
    call.keys.push_back(keys::pushes(batch->client));
    call.args.push_back(std::to_string(batch->number));
    call.args.emplace_back(batch_number_kept_s);
  }
  std::vector<LetGo> let_go;
  append_batch(let_go, holder.payload, 1, JobEnding::done);
  append(call, let_go);
  return call;
}

bool read_replaced(ReplyView reply) { return reply.integer() == 1; }

}  // namespace brood
