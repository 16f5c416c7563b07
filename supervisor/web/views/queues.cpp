#include <brood/api.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "shared/config/tenants.hpp"
#include "supervisor/cli/lists/class_list.hpp"
#include "supervisor/cli/lists/jobs_of_queue.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"
#include "supervisor/web/views/job_parts.hpp"

namespace brood {
namespace {

constexpr std::size_t jobs_a_queue_page = 25, queues_a_page = 100;
// A limit, so that the page does not hold up others.
constexpr std::size_t most_quarantined_looked_at = 1'000;
constexpr auto longest_look = std::chrono::milliseconds(100);

Queue queue_meant(Call& call) {
  const std::string name = call.query.value("name");
  if (name.empty()) throw Refused(404, "The queue is missing.");
  return call.site.api().queue(name);
}

Html state_of(const QueueStatus& queue) {
  if (!queue.size) return badge(Tone::bad, "no list");
  if (queue.paused) return badge(Tone::warn, "paused");
  if (!queue.served) return badge(*queue.size > 0 ? Tone::bad : Tone::plain, "not served");
  return badge(Tone::good, "served");
}

// How long the workers that fetch from a queue would need for it if they did nothing else.  Uses the average time of
// the shown jobs' classes in the last hour.
Html drain_of(Call& call, const std::string& name, std::size_t size, const std::vector<JobRecord>& jobs) {
  if (size == 0) return {};
  const StatusReport report = call.site.everything();
  std::int64_t workers = 0;
  if (report.redis) {
    for (const ProcessStatus& process : report.redis->processes) {
      for (const Process::Capsule& capsule : process.capsules) {
        if (!process.quiet && capsule.weights.contains(name)) workers += capsule.concurrency;
      }
    }
  }
  std::map<std::string, double> averages;
  for (const ClassMetrics& of_class : call.site.api().top_classes(std::chrono::hours(1)))
    averages[of_class.job_class] = of_class.average_seconds();
  double sum = 0;
  std::size_t known = 0;
  for (const JobRecord& job : jobs) {
    const auto average = averages.find(job.display_class);
    if (average == averages.end()) continue;
    sum += average->second;
    ++known;
  }
  if (workers == 0 || known == 0) return {};
  const double seconds = sum / static_cast<double>(known) * static_cast<double>(size) / static_cast<double>(workers);
  return Html("<p>Some {} of work for {}, by the averages of the last hour.</p>", length_text(seconds),
              counted(static_cast<std::uint64_t>(workers), "worker", "workers"));
}

Html pause_button(const Call& call, const std::string& name, bool paused, bool in_row) {
  if (paused) return button(call, Url("/queues/unpause").with("name", name), {"Unpause", Role::operate, false, in_row});
  return button(call, Url("/queues/pause").with("name", name), {"Pause", Role::operate, false, in_row});
}

// The jobs of the queue that wait elsewhere, one line for each place.
Html elsewhere(const JobsOfQueue& jobs, const ClassPauses& pauses) {
  Html lines;
  for (std::size_t i = 1; i < jobs.lists().size(); ++i) {
    const Queue& aside = jobs.lists()[i];
    if (const std::size_t size = aside.size(); size > 0)
      lines += Html("<p>{} of capped classes: see {}.</p>", counted(size, "job waits", "jobs wait"),
                    link_by_name(Url("/queues/one").with("name", aside.name()), aside.name()));
  }
  const JobsOfQueue::Waiting waiting =
      jobs.waiting_for_class({.most = most_quarantined_looked_at, .until = steady_now() + longest_look});
  if (waiting.jobs > 0)
    lines += Html("<p>{}{} for their classes: see {} and {}.</p>", waiting.is_cut ? "At least " : "",
                  counted(waiting.jobs, "job waits", "jobs wait"), link(Url("/quarantine"), "Quarantine"),
                  link(Url("/classes"), "Classes"));
  for (const std::string& name : waiting.classes) {
    if (const auto pause = pauses.find(name); pause != pauses.end())
      lines += Html("<p>{} {} is {}.</p>", badge(Tone::warn, "Class"), link(Url("/classes"), name),
                    pause_text(pause->second));
  }
  return lines;
}

// The tenants of a base, the fullest first.
HttpResponse show_tenants(Call& call, const std::string& entry) {
  const std::vector<QueueSummary> tenants = call.site.api().tenants(entry);
  Page page{.title = entry, .body = {}};
  page.beside_title = Html("<p class=\"dim\">{}</p>", counted(tenants.size(), "tenant", "tenants"));
  PageTable table("Tenants, the fullest first", {{"Queue"},
                                                 {"Jobs", PageTable::number},
                                                 {"Next has waited", PageTable::number},
                                                 {"Actions", PageTable::actions}});
  const std::size_t number = page_number(call), first = number * queues_a_page;
  for (std::size_t i = first; i < std::min(tenants.size(), first + queues_a_page); ++i) {
    const QueueSummary& queue = tenants[i];
    table.add({link_by_name(Url("/queues/one").with("name", queue.name), queue.name),
               Html("{}", grouped(static_cast<std::uint64_t>(queue.size))),
               queue.size > 0 ? Html("{}", length_text(queue.latency)) : Html("<span class=\"dim\">–</span>"),
               pause_button(call, queue.name, queue.paused, true)});
  }
  page.body += table.html(call, "There is no tenant.");
  if (tenants.size() > queues_a_page)
    page.body += pager(Url("/queues/one").with("name", entry), number, first + queues_a_page < tenants.size(),
                       counted(tenants.size(), "tenant", "tenants"));
  return page_response(call, std::move(page));
}

}  // namespace

HttpResponse show_queues(Call& call) {
  const StatusReport report = call.site.everything();
  if (!report.redis) throw Refused(503, "Redis is away: " + report.error);
  std::vector<QueueStatus> queues = report.redis->queues;
  std::stable_sort(queues.begin(), queues.end(),
                   [](const auto& one, const auto& other) { return one.size.value_or(0) > other.size.value_or(0); });
  Page page{.title = "Queues", .body = {}};
  page.beside_title =
      Html("<p class=\"dim\">{} in {}</p>",
           counted(static_cast<std::uint64_t>(std::max<std::int64_t>(0, report.redis->enqueued)), "job", "jobs"),
           counted(queues.size(), "queue", "queues"));
  PageTable table("Queues, the fullest first", {{"Queue"},
                                                {"State"},
                                                {"Jobs", PageTable::number},
                                                {"Next has waited", PageTable::number},
                                                {"Actions", PageTable::actions}});
  const std::size_t number = page_number(call), first = number * queues_a_page;
  for (std::size_t i = first; i < std::min(queues.size(), first + queues_a_page); ++i) {
    const QueueStatus& queue = queues[i];
    table.add(
        {link_by_name(Url("/queues/one").with("name", queue.name), queue.name), state_of(queue),
         Html("{}", grouped(static_cast<std::uint64_t>(queue.size.value_or(0)))),
         queue.size.value_or(0) > 0 ? Html("{}", length_text(queue.latency)) : Html("<span class=\"dim\">–</span>"),
         pause_button(call, queue.name, queue.paused, true)});
  }
  page.body += table.html(
      call, queues.empty() ? "There is no queue yet: the first push makes one." : "There are no more queues.");
  if (queues.size() > queues_a_page)
    page.body +=
        pager(Url("/queues"), number, first + queues_a_page < queues.size(), counted(queues.size(), "queue", "queues"));
  return page_response(call, std::move(page));
}

HttpResponse show_queue(Call& call) {
  if (const std::string name = call.query.value("name"); is_tenants(name)) return show_tenants(call, name);
  Queue queue = queue_meant(call);
  const std::size_t number = page_number(call);
  const std::vector<JobRecord> jobs = queue.page(number, jobs_a_queue_page);
  const std::size_t size = queue.size();
  const bool paused = queue.paused();
  Page page{.title = queue.name(), .body = {}};
  page.beside_title = Html("<p class=\"dim\">{}{}</p>{}", counted(size, "job", "jobs"),
                           size > 0 ? Html(", the next has waited for {}", length_text(queue.latency())) : Html(),
                           pause_button(call, queue.name(), paused, false));
  if (paused) page.body += Html("<p>{} No process fetches from it.</p>", badge(Tone::warn, "Paused"));
  const ClassPauses pauses = paused_classes_of(call.site.shards());
  page.body += elsewhere(JobsOfQueue(call.site.api(), call.site.shards(), queue.name()), pauses);
  page.body += drain_of(call, queue.name(), size, jobs);
  PageTable table("Jobs of the queue, the newest first",
                  {{"Job"}, {"Arguments"}, {"Enqueued"}, {"Actions", PageTable::actions}});
  for (const JobRecord& job : jobs) {
    const auto pause = pause_of_job(pauses, job.payload);
    table.add({Html("{}{}<small class=\"mono\">{}</small>", code(job.display_class),
                    pause ? badge(Tone::warn, pause_text({.until = pause->second.until})) : Html(),
                    link_by_name(Url("/jobs/one").with("jid", job.jid), job.jid)),
               args_of(call, job),
               job.enqueued_at ? ago(epoch_of(*job.enqueued_at)) : Html("<span class=\"dim\">–</span>"),
               job.jid.empty() ? Html()
                               : button(call,
                                        Url("/queues/delete")
                                            .with("name", queue.name())
                                            .with("jid", job.jid)
                                            .with("digest", digest_of(job.payload)),
                                        {"Delete", Role::admin, true})});
  }
  page.body += table.html(call, "The queue is empty.");
  page.body += pager(Url("/queues/one").with("name", queue.name()), number, (number + 1) * jobs_a_queue_page < size,
                     counted(size, "job", "jobs"));
  return page_response(call, std::move(page));
}

HttpResponse pause_queue(Call& call) {
  Queue queue = queue_meant(call);
  queue.pause();
  return see_other(call, Url("/queues"),
                   "The queue " + queue.name() + " is paused: workers follow within two seconds.");
}

HttpResponse unpause_queue(Call& call) {
  Queue queue = queue_meant(call);
  queue.unpause();
  return see_other(call, Url("/queues"), "The queue " + queue.name() + " is not paused any more.");
}

HttpResponse delete_queued_job(Call& call) {
  Queue queue = queue_meant(call);
  const std::string jid = call.query.value("jid"), digest = call.query.value("digest");
  // Other jobs may have the same jid.
  std::optional<JobRecord> job;
  queue.each([&](const JobRecord& one) {
    if (one.jid == jid && digest_of(one.payload) == digest) job = one;
    return !job;
  });
  if (!job || !queue.remove(*job)) throw Refused(409, "The job is not in the queue any more.");
  return see_other(call, Url("/queues/one").with("name", queue.name()), "The job was deleted.");
}

}  // namespace brood
