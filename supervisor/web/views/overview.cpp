#include <brood/api.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/cli/lists/class_list.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/chart.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_classes = 8, most_crashes = 3, most_that_need_you = 50;
constexpr double recent_crash_s = 86'400;
constexpr double long_wait_s = 300;  // for a queue's next job

struct ClassHour {
  ClassMetrics sum;
  std::vector<MinuteMetrics> minutes;
};

std::vector<ClassHour> last_hour(Api& api) {
  std::vector<ClassHour> classes;
  for (ClassMetrics& sum : api.top_classes(1h)) {
    if (classes.size() == most_classes) break;
    std::vector<MinuteMetrics> minutes = api.metrics_of(sum.job_class, 1h);
    classes.push_back({std::move(sum), std::move(minutes)});
  }
  return classes;
}

Bars bars_of(const std::vector<MinuteMetrics>& minutes, std::string title, bool is_small) {
  Bars bars{.title = std::move(title), .description = {}, .good = {}, .bad = {}, .is_small = is_small};
  double all = 0, failed = 0;
  for (const MinuteMetrics& minute : minutes) {
    const auto bad = static_cast<double>(std::min(minute.failed, minute.processed));
    bars.bad.push_back(bad);
    bars.good.push_back(static_cast<double>(minute.processed) - bad);
    all += static_cast<double>(minute.processed);
    failed += bad;
  }
  bars.description = fmt::format("{} in all, {} failed", rate_text(all), rate_text(failed));
  return bars;
}

Html chart_of_hour(const Call& call, const std::vector<ClassHour>& classes) {
  if (classes.empty()) return Html("<p class=\"empty\">No job has run in the last hour.</p>");
  std::vector<MinuteMetrics> sum = classes.front().minutes;
  for (std::size_t one = 1; one < classes.size(); ++one) {
    for (std::size_t i = 0; i < std::min(sum.size(), classes[one].minutes.size()); ++i) {
      sum[i].processed += classes[one].minutes[i].processed;
      sum[i].failed += classes[one].minutes[i].failed;
    }
  }
  Bars bars = bars_of(sum, "Jobs a minute", false);
  for (std::size_t i = 0; i < sum.size(); ++i)
    bars.names.push_back(
        fmt::format("{} minutes ago: {} done, {} failed", sum.size() - 1 - i, bars.good[i], bars.bad[i]));
  Html html = chart(bars);
  PageTable table("Classes of the last hour, by the time they took", {{"Class"},
                                                                      {"Jobs a minute"},
                                                                      {"Runs", PageTable::number},
                                                                      {"Failed", PageTable::number},
                                                                      {"Average", PageTable::number}});
  for (const ClassHour& one : classes) {
    const ClassMetrics& of_hour = one.sum;
    table.add({code(of_hour.job_class), chart(bars_of(one.minutes, of_hour.job_class + ", jobs a minute", true)),
               Html("{}", grouped(of_hour.processed)),
               of_hour.failed > 0 ? badge(Tone::bad, grouped(of_hour.failed)) : Html("<span class=\"dim\">0</span>"),
               Html("{}", length_text(of_hour.average_seconds()))});
  }
  return html += table.html(call, "");
}

Html attention(const StatusReport& report) {
  Html items;
  std::size_t found = 0;
  const auto add = [&](Tone tone, std::string_view what, const Html& where) {
    if (found++ >= most_that_need_you) return;
    items.add("<li>{}<span>{}</span></li>", badge(tone, what), where);
  };
  if (report.redis) {
    const RedisStatus& redis = *report.redis;
    for (const QueueStatus& queue : redis.queues) {
      const Html name = link_by_name(Url("/queues/one").with("name", queue.name), queue.name);
      if (!queue.size) add(Tone::bad, "No list", Html("The key of the queue {} is not a list.", name));
      if (queue.size.value_or(0) == 0) continue;
      if (!queue.served)
        add(Tone::bad, "Not served",
            Html("{} in {} and no process fetches from it.",
                 counted(static_cast<std::uint64_t>(*queue.size), "job waits", "jobs wait"), name));
      else if (queue.paused)
        add(Tone::warn, "Paused",
            Html("{} in {}.", counted(static_cast<std::uint64_t>(*queue.size), "job waits", "jobs wait"), name));
      else if (queue.latency > long_wait_s)
        add(Tone::warn, "Slow", Html("The next job of {} has waited for {}.", name, length_text(queue.latency)));
    }
    for (const SilentStatus& silent : redis.silent)
      add(Tone::bad, "Silent",
          Html("{} has no heartbeat and holds {}.", code(silent.identity),
               counted(static_cast<std::uint64_t>(silent.in_flight), "job", "jobs")));
    for (const auto& [name, quarantined] : redis.quarantine)
      add(Tone::bad, "Quarantined",
          Html("{} is in quarantine after {} crashes in one place: its jobs wait.",
               link(Url("/quarantine/one").with("class", name), name), quarantined.crashes));
    for (const auto& [name, pause] : redis.class_pauses)
      add(Tone::warn, "Paused", Html("The class {} is {}.", link(Url("/classes"), name), pause_text(pause)));
    std::size_t shown = 0;
    for (const Crash& crash : redis.crashes) {
      if (epoch_seconds(wall_now()) - crash.at > recent_crash_s || shown++ == most_crashes) break;
      add(Tone::bad, crash.error_class.empty() ? "Crash" : crash.error_class,
          Html("{} crashed {}: {}", link(Url("/crashes/one").with("fingerprint", crash.fingerprint), crash.job_class),
               ago(crash.at), code(top_frame(crash))));
    }
    if (redis.processes.empty()) add(Tone::bad, "No process", Html("No process performs jobs of this Redis."));
  } else if (report.shards.empty()) {
    add(Tone::bad, "Away", Html("Redis does not answer: {}", report.error));
  }
  for (const ShardReport& shard : report.shards) {
    if (!shard.redis) add(Tone::bad, "Away", Html("Shard {}: {}", shard.name, shard.error));
    if (shard.redis && shard.is_drained)
      add(Tone::warn, "Draining", Html("Shard {} takes no new jobs; {} are left there.", shard.name, shard.left()));
  }
  const ErrorReportStatus reports = sum_of_counters(report.machine).error_reports;
  for (std::size_t i = 0; i < reports.sinks.size(); ++i) {
    if (reports.sinks[i].in_use && reports.sinks[i].away_since > 0)
      add(Tone::warn, "Away",
          Html("The error service {} has taken no report since {}.", error_sink_names[i],
               ago(static_cast<double>(reports.sinks[i].away_since))));
  }
  for (const JsonObject& supervisor : report.supervisors) {
    const std::string phase = supervisor.string("phase").value_or("");
    const std::int64_t ready = supervisor.integer("ready").value_or(0),
                       wanted = supervisor.integer("concurrency").value_or(0);
    if (phase != "running")
      add(Tone::warn, phase, Html("Supervisor {} fetches no jobs.", supervisor.integer("pid").value_or(0)));
    else if (ready < wanted)
      add(Tone::warn, "Starting",
          Html("{} of {} workers of supervisor {} are ready.", ready, wanted, supervisor.integer("pid").value_or(0)));
    try {
      const JsonObject restart = JsonObject::parse(supervisor.raw("restart").value_or("{}"));
      if (restart.truthy("under_way"))
        add(Tone::warn, "Restart",
            Html("Workers of supervisor {} are being replaced.", supervisor.integer("pid").value_or(0)));
    } catch (const BadJson&) {
    }
  }
  if (items.empty()) return Html("<p class=\"calm\">{} All is well.</p>", badge(Tone::good, "Well"));
  if (found > most_that_need_you) items.add("<li>And {} more.</li>", found - most_that_need_you);
  return Html("<ul class=\"attention\">{}</ul>", items);
}

std::vector<Tile> tiles_of(const StatusReport& report, const Stats& stats) {
  std::vector<Tile> all;
  std::uint64_t busy = 0, workers = 0;
  if (report.redis) {
    for (const ProcessStatus& process : report.redis->processes) {
      busy += static_cast<std::uint64_t>(std::max<std::int64_t>(0, process.busy));
      workers += static_cast<std::uint64_t>(std::max<std::int64_t>(0, process.concurrency));
    }
  }
  all.push_back(
      {"Busy", grouped(busy), fmt::format("of {}", counted(workers, "worker", "workers")), Url("/processes")});
  double oldest = 0;
  if (report.redis) {
    for (const QueueStatus& queue : report.redis->queues) oldest = std::max(oldest, queue.latency);
  }
  all.push_back({"Enqueued", grouped(stats.enqueued), stats.enqueued > 0 ? "oldest " + length_text(oldest) : "",
                 Url("/queues"), oldest > long_wait_s ? Tone::warn : Tone::plain});
  all.push_back({"Retries", grouped(stats.retries), "", Url("/retries"), stats.retries > 0 ? Tone::warn : Tone::plain});
  all.push_back({"Scheduled", grouped(stats.scheduled), "", Url("/scheduled")});
  all.push_back({"Dead", grouped(stats.dead), "", Url("/dead"), stats.dead > 0 ? Tone::bad : Tone::plain});
  const double share =
      stats.processed > 0 ? 100.0 * static_cast<double>(stats.failed) / static_cast<double>(stats.processed) : 0;
  all.push_back({"Processed", grouped(stats.processed), "since the counters were reset", std::nullopt});
  all.push_back({"Failed", grouped(stats.failed), fmt::format("{:.2f} % of all runs", share), std::nullopt});
  if (report.redis) {
    const auto oldest_job = report.redis->oldest_in_flight();
    all.push_back({"In flight",
                   grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, report.redis->in_flight()))),
                   oldest_job ? "oldest " + length_text(*oldest_job) : "", Url("/workers")});
  }
  return all;
}

Html history_of(Api& api) {
  std::vector<DayStats> days = api.history(30);
  std::reverse(days.begin(), days.end());
  Bars bars{.title = "Jobs a day", .description = {}, .good = {}, .bad = {}};
  double all = 0;
  for (const DayStats& day : days) {
    const auto bad = static_cast<double>(std::min(day.failed, day.processed));
    bars.bad.push_back(bad);
    bars.good.push_back(static_cast<double>(day.processed) - bad);
    bars.names.push_back(fmt::format("{}: {} done, {} failed", day.day,
                                     grouped(day.processed - std::min(day.failed, day.processed)),
                                     grouped(day.failed)));
    all += static_cast<double>(day.processed);
  }
  bars.description = fmt::format("{} in thirty days", rate_text(all));
  return chart(bars);
}

}  // namespace

HttpResponse show_overview(Call& call) {
  const StatusReport report = call.site.everything();
  Page page{.title = "Overview", .body = {}};
  if (!report.redis) {
    page.notices.push_back("Redis is away: " + report.error);
    page.body += section("Needs attention", attention(report));
    return page_response(call, std::move(page));
  }
  Api& api = call.site.api();
  page.beside_title = Html("<p class=\"dim\">{}</p>",
                           report.shards.empty() ? report.address : counted(report.shards.size(), "shard", "shards"));
  page.body += tiles(tiles_of(report, api.stats()));
  page.body += section("Needs attention", attention(report));
  page.body += Html(
      "<form class=\"filter find\" method=\"get\" action=\"{}\" role=\"search\"><label>Id of a job<input name=\"jid\" "
      "autocomplete=\"off\" required></label><button class=\"big\">Find job</button></form>",
      Url("/jobs/one"));
  page.body += section("The last hour", chart_of_hour(call, last_hour(api)));
  page.body += section("Thirty days", history_of(api));
  return page_response(call, std::move(page));
}

}  // namespace brood
