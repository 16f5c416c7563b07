#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "shared/base/paths.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/report/work_entries.hpp"
#include "supervisor/cli/access/control_client.hpp"
#include "supervisor/cli/access/process_use.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t workers_a_page = 100;
constexpr auto patience_with_supervisor = 5s;

Tone tone_of(const std::string& state) {
  if (state == "busy") return Tone::good;
  if (state == "gone") return Tone::bad;
  if (state == "resting" || state == "stopping" || state == "quiet") return Tone::warn;
  return Tone::plain;
}

Html job_of(const WorkerStatus& worker) {
  if (worker.state == "resting")
    return Html("<span class=\"dim\">again in {}</span>", length_text(worker.rests_for.value_or(0)));
  if (worker.state != "busy") return Html("<span class=\"dim\">–</span>");
  return Html("{}<small class=\"mono\">{}</small>{}", code(worker.job_class),
              link_by_name(Url("/jobs/one").with("jid", worker.jid), worker.jid),
              worker.progress ? Html("<small>{}</small>", progress_text(*worker.progress)) : Html());
}

Html time_left(const WorkerStatus& worker) {
  if (!worker.deadline_in) return Html("<span class=\"dim\">–</span>");
  if (*worker.deadline_in < 0) return badge(Tone::bad, "over");
  return Html("{}", length_text(*worker.deadline_in));
}

Url worker_url(SitePath path, const WorkerStatus& worker) {
  return Url(path)
      .with("identity", worker.identity)
      .with("slot", std::to_string(worker.slot))
      .with("pid", std::to_string(worker.pid));
}

Html buttons_of(const Call& call, const WorkerStatus& worker) {
  Html out;
  if (worker.state == "busy" || worker.state == "idle") {
    out += button(call, worker_url("/workers/stack", worker), {"Stack", Role::operate});
    out += button(call, worker_url("/workers/recycle", worker), {"Recycle", Role::operate});
  }
  if (worker.state == "busy")
    out += button(call, Url("/workers/end").with("jid", worker.jid).with("identity", worker.identity),
                  {"End job", Role::admin, true});
  return out;
}

// The answer of the supervisor of a worker on this machine.  Throws Refused.
std::string ask_supervisor(const Call& call, const std::string& verb, const std::vector<std::string>& arguments) {
  const std::string identity = call.query.value("identity");
  for (const LocalSupervisor& supervisor : local_supervisors(runtime_directory())) {
    if (supervisor.identity != identity) continue;
    ControlAnswer answer = ask(supervisor, verb, arguments, patience_with_supervisor);
    if (!answer.ok) throw Refused(409, answer.text);
    return std::move(answer.text);
  }
  throw Refused(409, "Its supervisor does not run any more.");
}

Html machine_parts(const StatusReport& report) {
  Html out;
  for (const JsonObject& supervisor : report.supervisors) {
    Facts facts;
    facts.add("Phase", badge(supervisor.string("phase").value_or("") == "running" ? Tone::good : Tone::warn,
                             supervisor.string("phase").value_or("")));
    facts.add("Generation", std::to_string(supervisor.integer("generation").value_or(0)));
    facts.add("Ready", fmt::format("{} of {}", supervisor.integer("ready").value_or(0),
                                   supervisor.integer("concurrency").value_or(0)));
    facts.add("Finishing", std::to_string(supervisor.integer("finishing").value_or(0)));
    facts.add("Since", ago(supervisor.number("started_at").value_or(0)));
    out += section(fmt::format("Supervisor {}", supervisor.integer("pid").value_or(0)), facts.html());
  }
  return out;
}

}  // namespace

HttpResponse show_workers(Call& call) {
  StatusReport report = call.site.machine();
  std::vector<WorkerStatus>& workers = report.machine.workers;
  const auto age = [](const WorkerStatus& one) { return one.state == "busy" ? one.age : -1; };
  std::stable_sort(workers.begin(), workers.end(),
                   [&](const auto& one, const auto& other) { return age(one) > age(other); });
  const auto busy = static_cast<std::uint64_t>(
      std::count_if(workers.begin(), workers.end(), [](const auto& one) { return one.state == "busy"; }));
  Page page{.title = "Workers", .body = {}};
  page.beside_title = Html("<p class=\"dim\">{} busy, {} on this machine</p>", grouped(busy),
                           counted(workers.size(), "worker", "workers"));
  page.body += machine_parts(report);

  PageTable table("Workers of this machine, those with the oldest job first", {{"Worker"},
                                                                               {"State"},
                                                                               {"Job"},
                                                                               {"Queue"},
                                                                               {"Age", PageTable::number},
                                                                               {"Time left", PageTable::number},
                                                                               {"CPU", PageTable::number},
                                                                               {"Memory", PageTable::number},
                                                                               {"Jobs", PageTable::number},
                                                                               {"Actions", PageTable::actions}});
  const std::size_t number = page_number(call), first = number * workers_a_page;
  for (std::size_t i = first; i < std::min(workers.size(), first + workers_a_page); ++i) {
    const WorkerStatus& worker = workers[i];
    const bool is_busy = worker.state == "busy";
    const bool lives = worker.pid > 0 && worker.state != "gone" && worker.state != "resting";
    const auto use = lives ? use_of_worker(worker.pid, worker.job_pid) : std::nullopt;
    table.add({Html("<span class=\"mono\">{}</span><small>pid {}, {}, generation {}</small>", worker.slot, worker.pid,
                    worker.capsule, worker.generation),
               badge(tone_of(worker.state), worker.state), job_of(worker),
               is_busy ? Html("{}", worker.queue) : Html("<span class=\"dim\">–</span>"),
               is_busy ? Html("{}", length_text(worker.age)) : Html("<span class=\"dim\">–</span>"), time_left(worker),
               use ? Html("{}", length_text(use->cpu_s)) : Html("<span class=\"dim\">–</span>"),
               use ? Html("{}", memory_text(use->rss_kb)) : Html("<span class=\"dim\">–</span>"),
               Html("{}{}", grouped(worker.processed),
                    worker.failed > 0 ? Html("<small>{} failed</small>", grouped(worker.failed)) : Html()),
               buttons_of(call, worker)});
  }
  page.body += table.html(call, "No supervisor of this user runs on this machine.");
  if (workers.size() > workers_a_page)
    page.body += pager(Url("/workers"), number, first + workers_a_page < workers.size(),
                       counted(workers.size(), "worker", "workers"));
  return page_response(call, std::move(page));
}

HttpResponse end_job(Call& call) {
  if (ask_supervisor(call, "kill", {call.query.value("jid"), "retry"}) == "null")
    throw Refused(409, "No worker runs the job any more.");
  return see_other(call, Url("/workers"), "The job was ended, and will be retried.");
}

HttpResponse recycle_worker(Call& call) {
  ask_supervisor(call, "recycle", {call.query.value("slot"), call.query.value("pid")});
  return see_other(call, Url("/workers"), "The worker will be replaced when its job is done.");
}

// Answers a form, not a link, since it interrupts a worker briefly.
HttpResponse show_stack(Call& call) {
  const std::string slot = call.query.value("slot"), pid = call.query.value("pid");
  const std::string told = ask_supervisor(call, "stack", {slot, pid});
  Page page{.title = "Worker " + slot, .body = {}};
  std::vector<std::string> frames;
  try {
    const JsonObject stack = JsonObject::parse(told);
    const std::string jid = stack.string("jid").value_or("");
    Facts facts;
    facts.add("Process", pid);
    facts.add("Job", jid.empty() ? Html("none") : code(stack.string("class").value_or("")));
    if (!jid.empty()) facts.add("Id", link_by_name(Url("/jobs/one").with("jid", jid), jid));
    page.body += facts.html();
    for (const std::string& frame : json_elements(stack.raw("frames").value_or("[]")))
      frames.push_back(json_unescape(frame));
  } catch (const BadJson&) {
    throw Refused(409, "The answer of its supervisor cannot be read.");
  }
  page.body +=
      section("Stack", frames.empty() ? Html("<p class=\"empty\">The worker did not answer.</p>") : lines(frames));
  // A page that answers a form does not reload by itself.
  page.body += Html(
      "<div class=\"bulk\"><form method=\"post\" action=\"{}\" data-continue=\"no\">{}<button>Look "
      "again</button></form>"
      "<a class=\"step\" href=\"{}\">All workers</a></div>",
      Url("/workers/stack").with("identity", call.query.value("identity")).with("slot", slot).with("pid", pid),
      token_field(call), Url("/workers"));
  return page_response(call, std::move(page));
}

}  // namespace brood
