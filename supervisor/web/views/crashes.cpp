#include <brood/api.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/chart.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

constexpr std::size_t crashes_a_page = 100, most_characters_of_builds = 1'000;

// Throws Refused.
RedisStatus redis_of(const StatusReport& report) {
  if (!report.redis) throw Refused(503, "Redis is away: " + report.error);
  return *report.redis;
}

// The classes whose jobs wait because of the crash.
Html quarantine_for(const Crash& crash, const RedisStatus& redis) {
  Html links;
  for (const auto& [name, one] : redis.quarantine) {
    if (one.fingerprint != crash.fingerprint) continue;
    if (!links.empty()) links.add(", ");
    links += link(Url("/quarantine/one").with("class", name), name);
  }
  return links.empty() ? Html("no") : links;
}

Bars bars_of_days(const Crash& crash, bool is_small) {
  Bars bars{.title = is_small ? crash.job_class + ", crashes a day" : "Crashes a day",
            .description = {},
            .good = {},
            .bad = {},
            .is_small = is_small};
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < crash.days.size(); ++i) {
    const std::int64_t count = std::max<std::int64_t>(0, crash.days[i]);
    bars.good.push_back(0);
    bars.bad.push_back(static_cast<double>(count));
    if (!is_small) bars.names.push_back(fmt::format("{} days ago: {}", crash.days.size() - 1 - i, count));
    sum += count;
  }
  bars.description = fmt::format("{} in {} days", grouped(static_cast<std::uint64_t>(sum)), crash.days.size());
  return bars;
}

// The report of the job that crashed last, if it is still a retry or dead: builds, signal, core file.
Html report_of(Call& call, const Crash& crash) {
  for (JobSet set : {call.site.api().retries(), call.site.api().dead()}) {
    const auto entry = set.find(crash.jid);
    if (!entry) continue;
    try {
      const JsonObject report = JsonObject::parse(entry->member("crash").value_or("{}"));
      if (report.string("fingerprint").value_or("") != crash.fingerprint) continue;
      Facts facts;
      if (const auto builds = report.raw("build_ids"))
        facts.add("Builds", code(utf8_prefix(*builds, most_characters_of_builds)));
      if (const auto core = report.string("core")) facts.add("Core file", code(*core));
      if (const auto before = report.raw("ran_before"))
        facts.add("Ran before it", code(utf8_prefix(*before, most_characters_of_builds)));
      const Url place = Url(set.name() == "dead" ? SitePath("/dead/one") : SitePath("/retries/one"));
      facts.add("Its job", link(place.with("score", entry->score_text).with("jid", entry->jid),
                                set.name() == "dead" ? "is dead" : "will be retried"));
      return facts.html();
    } catch (const BadJson&) {  // written by another program
    }
  }
  return {};
}

}  // namespace

HttpResponse show_crashes(Call& call) {
  const StatusReport report = call.site.everything();
  const RedisStatus redis = redis_of(report);
  Page page{.title = "Crashes", .body = {}};
  page.beside_title = Html("<p class=\"dim\">{}, each a class with one error at one place</p>",
                           counted(redis.crashes.size(), "group", "groups"));
  if (!redis.quarantine.empty())
    page.body += Html("<p class=\"calm\">{}</p>",
                      link(Url("/quarantine"), counted(redis.quarantine.size(), "class is in quarantine: its jobs wait",
                                                       "classes are in quarantine: their jobs wait")));
  PageTable table("Crash groups, the latest first",
                  {{"Class"}, {"Way"}, {"Place"}, {"Fourteen days"}, {"Count", PageTable::number}, {"Latest"}});
  const std::size_t number = page_number(call), first = number * crashes_a_page;
  for (std::size_t i = first; i < std::min(redis.crashes.size(), first + crashes_a_page); ++i) {
    const Crash& crash = redis.crashes[i];
    table.add({link(Url("/crashes/one").with("fingerprint", crash.fingerprint), crash.job_class),
               badge(Tone::bad, crash.error_class),
               Html("{}<small>{}</small>", code(top_frame(crash)), shown_name(crash.message)),
               chart(bars_of_days(crash, true)),
               Html("{}", grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, crash.count)))), ago(crash.at)});
  }
  page.body += table.html(call, redis.crashes.empty() ? "No worker has crashed." : "There are no more groups.");
  if (redis.crashes.size() > crashes_a_page)
    page.body += pager(Url("/crashes"), number, first + crashes_a_page < redis.crashes.size(),
                       counted(redis.crashes.size(), "group", "groups"));
  return page_response(call, std::move(page));
}

HttpResponse show_crash(Call& call) {
  const StatusReport report = call.site.everything();
  const RedisStatus redis = redis_of(report);
  const std::string fingerprint = call.query.value("fingerprint");
  const auto found = std::find_if(redis.crashes.begin(), redis.crashes.end(),
                                  [&](const Crash& crash) { return crash.fingerprint == fingerprint; });
  if (found == redis.crashes.end()) throw Refused(404, "No crash with this fingerprint is known any more.");
  const Crash& crash = *found;
  Page page{.title = crash.job_class, .body = {}};
  page.beside_title = badge(Tone::bad, crash.error_class);
  page.body += Html("<p class=\"lead\">{}</p>", crash.message);
  Facts facts;
  facts.add("Count", grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, crash.count))));
  facts.add("Latest", ago(crash.at));
  facts.add("Queue", link_by_name(Url("/queues/one").with("name", crash.queue), crash.queue));
  facts.add("Supervisor", code(crash.identity));
  facts.add("Job", link_by_name(Url("/jobs/one").with("jid", crash.jid), crash.jid));
  facts.add("Fingerprint", code(crash.fingerprint));
  facts.add("In quarantine", quarantine_for(crash, redis));
  page.body += facts.html();
  page.body += report_of(call, crash);
  page.body += chart(bars_of_days(crash, false));
  page.body += section("Native stack of the latest",
                       crash.frames.empty() ? Html("<p class=\"empty\">No stack is known.</p>") : lines(crash.frames));
  const std::string replay[] = {call.site.replay_of(crash.jid)};
  page.body += section("Run it again under a debugger", lines(replay));
  page.body += Html("<p>{}</p>", link(Url("/retries").with("class", crash.job_class), "Its jobs in retry"));
  return page_response(call, std::move(page));
}

}  // namespace brood
