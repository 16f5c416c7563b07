#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/plain_number.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/in_flight/job_search.hpp"
#include "shared/store/kept_report.hpp"
#include "shared/store/report/work_entries.hpp"
#include "supervisor/cli/lists/class_list.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"
#include "supervisor/web/views/job_parts.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_jid = 255, most_characters_of_found_args = 4'000;

// The state of a job in one word, with its colour, and in one sentence.
struct ShownState {
  Tone tone;
  std::string_view word;
  Html sentence;
};

Html in_flight_sentence(const PlacedJob& job, const StatusReport& report, const WorkerStatus* worker) {
  const Html holder("worker {} of {}", job.field.substr(0, job.field.find('.')), code(job.identity));
  if (worker != nullptr)
    return Html("It runs, in {}, for {} so far.{}", holder, length_text(worker->age),
                worker->progress ? Html(" It is at {}.", progress_text(*worker->progress)) : Html());
  const bool beats =
      report.redis && std::any_of(report.redis->processes.begin(), report.redis->processes.end(),
                                  [&](const ProcessStatus& process) { return process.identity == job.identity; });
  if (beats) return Html("It was fetched by {}, whose supervisor is alive: it runs, or is about to.", holder);
  return Html(
      "It was fetched by {}, whose supervisor has no heartbeat. It is not lost: another supervisor gives it back "
      "within minutes, and {} does so at once.",
      holder, code("brood recover"));
}

ShownState state_of_job(const PlacedJob& job, const StatusReport& report, const WorkerStatus* worker) {
  const Html queue = link_by_name(Url("/queues/one").with("name", job.queue), job.queue);
  switch (job.place) {
    case PlacedJob::Place::queue:
      return {Tone::good, "waits", Html("It waits in the queue {}.", queue)};
    case PlacedJob::Place::in_flight:
      return {worker != nullptr ? Tone::good : Tone::warn, "in flight", in_flight_sentence(job, report, worker)};
    case PlacedJob::Place::schedule:
      return {Tone::good, "scheduled", Html("It is scheduled.")};
    case PlacedJob::Place::retry:
      return {Tone::warn, "retry", Html("It has failed, and will be retried.")};
    case PlacedJob::Place::dead:
      return {Tone::bad, "dead", Html("It has failed for good.")};
    case PlacedJob::Place::quarantine:
      return {Tone::bad, "quarantine", Html("Its class is in quarantine or paused.")};
    case PlacedJob::Place::sequence:
      return {Tone::good, "waits", Html("It waits for the jobs before it in the sequence {}.", job.sequence)};
    case PlacedJob::Place::flow:
      return {Tone::good, "waits",
              Html("It waits for {} of its flow, the batch {}.",
                   counted(static_cast<std::uint64_t>(job.waits_for), "other step", "other steps"),
                   link_by_name(Url("/batches/one").with("bid", job.bid), job.bid))};
  }
  return {Tone::plain, "", Html()};
}

Html entry_link(const PlacedJob& job, const std::string& jid) {
  const auto to = [&](SitePath path) {
    return link(Url(path).with("score", job.score_text).with("jid", jid), "All of it");
  };
  if (job.place == PlacedJob::Place::schedule) return to("/scheduled/one");
  if (job.place == PlacedJob::Place::retry) return to("/retries/one");
  if (job.place == PlacedJob::Place::dead) return to("/dead/one");
  return {};
}

Html found_job(const Call& call, const PlacedJob& job, const std::string& jid, const StatusReport& report) {
  const auto worker =
      std::find_if(report.machine.workers.begin(), report.machine.workers.end(), [&](const WorkerStatus& one) {
        return one.state == "busy" && one.jid == jid && one.identity == job.identity &&
               job.field.starts_with(std::to_string(one.slot) + ".");
      });
  const ShownState state = state_of_job(job, report, worker == report.machine.workers.end() ? nullptr : &*worker);
  Html out = Html("<p class=\"lead\">{} {}</p>", badge(state.tone, state.word), state.sentence);
  const bool waits = job.place == PlacedJob::Place::queue || job.place == PlacedJob::Place::quarantine;
  if (const auto pause = waits && report.redis ? pause_of_job(report.redis->class_pauses, job.payload) : std::nullopt)
    out += Html("<p>{} is {}.</p>", link(Url("/classes"), pause->first), pause_text(pause->second));
  const JobRecord record = JobRecord::read(job.payload);
  Facts facts;
  try {
    const JsonObject payload = JsonObject::parse(job.payload);
    facts.add("Class", code(payload.string("class").value_or("")));
    facts.add("Queue", payload.string("queue").value_or(""));
    if (const auto sequence = payload.string("sequence")) facts.add("Sequence", *sequence);
    if (const auto count = payload.integer("retry_count")) facts.add("Failures", std::to_string(*count + 1));
    if (const auto error = payload.string("error_class")) facts.add("Error", *error);
  } catch (const BadJson&) {  // the search has parsed it already
  }
  if (const auto batch = batch_of(job.payload)) facts.add("Batch", *batch);
  if (!job.score_text.empty()) facts.add("Time", ago(leading_number<double>(job.score_text)));
  if (job.returns > 0)
    facts.add("Came back",
              counted(static_cast<std::uint64_t>(job.returns), "time", "times") + ", from workers of lost hosts");
  out += facts.html();
  const ShowArgs shows = shown_of(call.site.settings().show_args, record);
  out += Html("<pre tabindex=\"0\">{}</pre>", told_args(shows, record.display_args(), most_characters_of_found_args));
  return out += Html("<p>{}</p>", entry_link(job, jid));
}

// Shows the report of a job that is nowhere any more.  Its class is unknown.
Html ended_job(const JobReport& report, ShowArgs shows) {
  const bool died = report.state == JobState::dead;
  Html out("<p class=\"lead\">{} {}</p>", badge(died ? Tone::bad : Tone::good, to_string(report.state)),
           died ? "It has failed for good, or was deleted." : "It is done.");
  Facts facts;
  if (!report.error_class.empty()) facts.add("Error", report.error_class + ": " + report.error_message);
  if (report.elapsed.count() > 0) facts.add("Took", length_text(std::chrono::duration<double>(report.elapsed).count()));
  if (report.ended_at)
    facts.add("Ended", ago(std::chrono::duration<double>(report.ended_at->time_since_epoch()).count()));
  out += facts.html();
  if (report.result.text == "null") return out;
  return out +=
         Html("<pre tabindex=\"0\">{}</pre>", told_args(shows, report.result.text, most_characters_of_found_args));
}

}  // namespace

// Answers the question "Was my job lost?".
HttpResponse show_job(Call& call) {
  const std::string jid = call.query.value("jid");
  if (jid.empty() || jid.size() > longest_jid) throw Refused(404, "The id of the job is missing.");
  std::vector<PlacedJob> found;
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    for (PlacedJob& job : search_job(shard.redis, jid)) found.push_back(std::move(job));
  });
  Page page{.title = jid, .body = {}};
  const StatusReport report = call.site.everything();
  for (const PlacedJob& job : found) page.body += found_job(call, job, jid, report);
  std::optional<JobReport> left;
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    if (!left) left = read_kept_report(shard.redis.call(ask_report(jid)).view());
  });
  if (found.empty() && left)
    page.body += ended_job(*left, call.site.settings().show_args.of_any());
  else if (found.empty())
    page.body += Html(
        "<p class=\"lead\">{} No queue, no set and no worker has a job with this id.</p>"
        "<p>It is done, was deleted, has expired, or was never pushed here.</p>",
        badge(Tone::plain, "not here"));
  return page_response(call, std::move(page));
}

}  // namespace brood
