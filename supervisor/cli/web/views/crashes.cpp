#include <algorithm>
#include <string>

#include "supervisor/cli/count_text.hpp"
#include "supervisor/cli/web/page/layout.hpp"
#include "supervisor/cli/web/page/parts.hpp"
#include "supervisor/cli/web/page/site.hpp"

namespace brood {
namespace {

// Throws Refused.
RedisStatus redis_of(const StatusReport& report) {
  if (!report.redis) throw Refused(503, "Redis is away: " + report.error);
  return *report.redis;
}

Html quarantine_of(const Call& call, const RedisStatus& redis) {
  if (redis.quarantine.empty()) return {};
  PageTable table("Classes whose jobs wait since they crash",
                  {{"Class"}, {"Fingerprint"}, {"Crashes", PageTable::number}, {"Since"}});
  for (const auto& [name, one] : redis.quarantine)
    table.add(
        {code(name), Html("<span class=\"mono\">{}</span>", one.fingerprint), Html("{}", one.crashes), ago(one.since)});
  return section("Quarantine", table.html(call, ""));
}

}  // namespace

HttpResponse show_crashes(Call& call) {
  const StatusReport report = call.site.everything();
  const RedisStatus redis = redis_of(report);
  Page page{.title = "Crashes", .body = {}};
  page.beside_title = Html("<p class=\"dim\">{}, each a class that ended in one way at one place</p>",
                           counted(redis.crashes.size(), "group", "groups"));
  page.body += quarantine_of(call, redis);
  PageTable table("Crash groups, the latest first",
                  {{"Class"}, {"Way"}, {"Place"}, {"Count", PageTable::number}, {"Latest"}});
  for (const Crash& crash : redis.crashes) {
    table.add({link(Url("/crashes/one").with("fingerprint", crash.fingerprint), crash.job_class),
               badge(Tone::bad, crash.error_class), Html("{}<small>{}</small>", code(top_frame(crash)), crash.message),
               Html("{}", grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, crash.count)))), ago(crash.at)});
  }
  page.body += table.html(call, "No worker has crashed.");
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
  facts.add("Queue", link(Url("/queues/one").with("name", crash.queue), crash.queue));
  facts.add("Supervisor", code(crash.identity));
  facts.add("Job", code(crash.jid));
  facts.add("Fingerprint", code(crash.fingerprint));
  page.body += facts.html();
  page.body += section("Native stack of the latest",
                       crash.frames.empty() ? Html("<p class=\"empty\">No stack is known.</p>") : lines(crash.frames));
  const std::string replay[] = {"brood replay " + crash.jid + " --gdb"};
  page.body += section("Run it again under a debugger", lines(replay));
  page.body += Html("<p>{}</p>", link(Url("/retries").with("class", crash.job_class), "Its jobs that are tried again"));
  return page_response(call, std::move(page));
}

}  // namespace brood
