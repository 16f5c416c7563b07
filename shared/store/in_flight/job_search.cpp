#include "shared/store/in_flight/job_search.hpp"

#include <algorithm>
#include <utility>

#include "shared/json/json_object.hpp"
#include "shared/store/in_flight/entry_mark.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/marked_jobs.hpp"
#include "shared/store/script.hpp"

namespace brood {
namespace {

using Place = PlacedJob::Place;

bool has_jid(const std::string& payload, std::string_view jid) {
  try {
    return JsonObject::parse(payload).string("jid").value_or("") == jid;
  } catch (const BadJson&) {
    return false;
  }
}

class JobSearch {
 public:
  JobSearch(Channel& redis, std::string_view jid) : redis_(redis), jid_(jid) {}

  void look(const RedisKey& key, const PlacedJob& there) {
    for (std::size_t first = 0;;) {
      const MarkedJobs page = read_marked_jobs(redis_.run(marked_jobs(key, first, {jid_})).view());
      for (const MarkedJob& job : page.jobs) {
        if (has_jid(job.payload, jid_)) add(there, job);
      }
      if (page.looked_at == 0) return;
      first += page.looked_at;
    }
  }
  std::vector<PlacedJob> found() && { return std::move(found_); }

 private:
  void add(PlacedJob job, const MarkedJob& marked) {
    job.payload = marked.payload;
    job.score_text = marked.score_text;
    const bool is_known = std::any_of(found_.begin(), found_.end(), [&](const PlacedJob& one) {
      return one.place == job.place && one.payload == job.payload && one.score_text == job.score_text;
    });
    if (is_known) return;
    const Reply returns = redis_.run(orphan_return_count(job.payload));
    if (returns.view().is_integer()) job.returns = returns.view().integer();
    found_.push_back(std::move(job));
  }

  Channel& redis_;
  const std::string jid_;
  std::vector<PlacedJob> found_;
};

}  // namespace

std::vector<PlacedJob> search_job(Channel& redis, std::string_view jid) {
  JobSearch search(redis, jid);
  if (jid.empty()) return {};
  for_each_place_of_jobs(redis, [&](const PlaceOfJobs& at) {
    search.look(at.key, {.place = at.kind, .queue = at.queue, .identity = at.identity, .field = at.field});
  });
  search.look(keys::dead, {.place = Place::dead});
  return std::move(search).found();
}

}  // namespace brood
