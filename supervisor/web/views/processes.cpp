#include <brood/api.hpp>

#include <algorithm>
#include <string>

#include "shared/config/queue_order.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"
#include "supervisor/web/views/job_parts.hpp"

namespace brood {
namespace {

constexpr std::size_t most_running_shown = 100, processes_a_page = 100, most_queues_of_process = 20;

Html queues_of(const Process& process) {
  Html out;
  for (std::size_t i = 0; i < std::min(process.queues.size(), most_queues_of_process); ++i) {
    // Entries of this kind are not names of queues.
    if (process.queues[i].empty() || is_pattern(process.queues[i])) {
      const std::string shown = process.queues[i] == "*" ? "* (all queues)" : process.queues[i];
      out.add("<span class=\"chip\">{}</span>", process.queues[i].empty() ? "(no name)" : shown);
      continue;
    }
    out.add("<a class=\"chip\" href=\"{}\">{}</a>", Url("/queues/one").with("name", process.queues[i]),
            shown_name(process.queues[i]));
  }
  if (process.queues.size() > most_queues_of_process)
    out.add(" and {} more", process.queues.size() - most_queues_of_process);
  return out;
}

Html started(const ProcessStatus& process) {
  Html out = ago(epoch_of(process.started_at));
  if (process.state)
    out += Html("<small>generation {}, loaded {}</small>", process.state->generation, ago(process.state->loaded_at));
  return out;
}

}  // namespace

HttpResponse show_processes(Call& call) {
  // Does not use Api::processes(), which removes the dead: reading must change nothing.
  const StatusReport report = call.site.everything();
  if (!report.redis) throw Refused(503, "Redis is away: " + report.error);
  const std::vector<ProcessStatus>& processes = report.redis->processes;
  Page page{.title = "Processes", .body = {}};
  page.beside_title =
      Html("<p class=\"dim\">{} of the whole fleet</p>", counted(processes.size(), "process", "processes"));
  PageTable table("Processes with a heartbeat", {{"Process"},
                                                 {"State"},
                                                 {"Busy", PageTable::number},
                                                 {"Queues"},
                                                 {"Memory", PageTable::number},
                                                 {"Started"},
                                                 {"Beat"},
                                                 {"Actions", PageTable::actions}});
  const std::size_t number = page_number(call), first = number * processes_a_page;
  for (std::size_t i = first; i < std::min(processes.size(), first + processes_a_page); ++i) {
    const ProcessStatus& process = processes[i];
    Html actions;
    if (!process.embedded) {
      if (!process.quiet)
        actions += button(call, Url("/processes/quiet").with("identity", process.identity), {"Quiet", Role::admin});
      // Ruby's processes keep no lists of jobs in flight, and cannot resume.
      if (process.quiet && process.in_flight)
        actions += button(call, Url("/processes/resume").with("identity", process.identity), {"Resume", Role::operate});
      actions += button(call, Url("/processes/stop").with("identity", process.identity), {"Stop", Role::admin, true});
    }
    table.add({Html("<strong>{}</strong><small>pid {}, {}{}{}</small>", shown_name(process.hostname), process.pid,
                    shown_name(process.version), process.tag.empty() ? "" : ", ", shown_name(process.tag)),
               process.quiet ? badge(Tone::warn, "quiet") : badge(Tone::good, "running"),
               Html("{} <span class=\"dim\">of {}</span>", process.busy, process.concurrency), queues_of(process),
               Html("{}", memory_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, process.rss_kb)))),
               started(process), ago(epoch_of(process.beat)), actions});
  }
  page.body +=
      table.html(call, processes.empty() ? "No process performs jobs of this Redis." : "There are no more processes.");
  if (processes.size() > processes_a_page)
    page.body += pager(Url("/processes"), number, first + processes_a_page < processes.size(),
                       counted(processes.size(), "process", "processes"));

  const std::vector<Work> running = call.site.api().work();
  PageTable jobs("Running jobs, the oldest first", {{"Job"}, {"Queue"}, {"Arguments"}, {"Process"}, {"Began"}});
  for (const Work& work : running) {
    if (jobs.rows() == most_running_shown) break;
    jobs.add({Html("{}<small class=\"mono\">{}</small>", code(work.job.display_class), shown_name(work.job.jid)),
              Html("{}", shown_name(work.queue)), args_of(call, work.job),
              Html("<span class=\"mono\">{}</span>", shown_name(work.identity)), ago(epoch_of(work.run_at))});
  }
  page.body += section(running.size() > most_running_shown ? "Running jobs, the oldest hundred" : "Running jobs",
                       jobs.html(call, "No job runs, as of the last heartbeats."));
  return page_response(call, std::move(page));
}

HttpResponse quiet_process(Call& call) {
  if (!call.site.api().quiet(call.query.value("identity"))) throw Refused(409, "There is no such process any more.");
  return see_other(call, Url("/processes"), "The process stops fetching within ten seconds.");
}

HttpResponse resume_process(Call& call) {
  if (!call.site.api().resume(call.query.value("identity")))
    throw Refused(409, "There is no such process any more, or it is Ruby's, which cannot resume.");
  return see_other(call, Url("/processes"), "The process fetches again within some seconds, unless it is stopping.");
}

HttpResponse stop_process(Call& call) {
  if (!call.site.api().stop(call.query.value("identity"))) throw Refused(409, "There is no such process any more.");
  return see_other(call, Url("/processes"), "The process stops within ten seconds, once its jobs are done.");
}

}  // namespace brood
