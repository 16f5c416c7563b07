#include "shared/store/in_flight/job_search.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "shared/base/plain_number.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/batches/flow.hpp"
#include "shared/store/in_flight/entry_mark.hpp"
#include "shared/store/kept_report.hpp"
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
  void look_in_flows() {
    std::optional<WaitingStep> step = find_waiting_step(redis_, jid_);
    if (!step || !has_jid(step->payload, jid_)) return;
    found_.push_back({.place = Place::flow,
                      .bid = std::move(step->bid),
                      .waits_for = step->waits_for,
                      .payload = std::move(step->payload)});
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

JobState state_at(Place place) {
  switch (place) {
    case Place::in_flight:
      return JobState::running;
    case Place::schedule:
      return JobState::scheduled;
    case Place::retry:
      return JobState::retrying;
    case Place::dead:
      return JobState::dead;
    case Place::queue:
    case Place::quarantine:
    case Place::sequence:
    case Place::flow:
      break;
  }
  return JobState::queued;
}

JobReport report_of(const PlacedJob& placed, std::string_view jid) {
  JobReport report{.jid = std::string(jid), .state = state_at(placed.place)};
  if (placed.place != Place::retry && placed.place != Place::dead) return report;
  const JsonObject job = JsonObject::parse(placed.payload);  // the search has read it
  report.error_class = job.string("error_class").value_or("");
  report.error_message = job.string("error_message").value_or("");
  const auto died = leading_number<double>(placed.score_text);
  if (placed.place == Place::dead && died > 0 && died < 9e9)
    report.ended_at = std::chrono::system_clock::time_point(
        std::chrono::round<std::chrono::system_clock::duration>(std::chrono::duration<double>(died)));
  return report;
}

}  // namespace

LookedUpJob look_up_job(Channel& redis, std::string_view jid) {
  std::optional<JobReport> kept = read_kept_report(redis.call(ask_report(jid)).view());
  if (kept && kept->state != JobState::dead) return {std::move(*kept), std::nullopt};
  std::vector<PlacedJob> found = search_job(redis, jid);
  LookedUpJob job{{.jid = std::string(jid)}, std::nullopt};
  if (!found.empty()) job.placed = std::move(found.back());  // a job that moved was found last where it is now
  if (kept && (!job.placed || job.placed->place == Place::dead))
    job.report = std::move(*kept);
  else if (job.placed)
    job.report = report_of(*job.placed, jid);
  return job;
}

std::vector<PlacedJob> search_job(Channel& redis, std::string_view jid) {
  JobSearch search(redis, jid);
  if (jid.empty()) return {};
  search.look_in_flows();
  for_each_place_of_jobs(redis, [&](const PlaceOfJobs& at) {
    search.look(
        at.key,
        {.place = at.kind, .queue = at.queue, .sequence = at.sequence, .identity = at.identity, .field = at.field});
  });
  search.look(keys::dead, {.place = Place::dead});
  return std::move(search).found();
}

}  // namespace brood
