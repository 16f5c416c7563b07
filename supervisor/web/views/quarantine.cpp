#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/cli/lists/quarantine_list.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/json_answer.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t classes_a_page = 100, most_waiting_shown = 50;
constexpr std::size_t most_classes_answered = 1'000;

// For each shard; a million jobs of a megabyte may wait.
QuarantineBounds bounds_of_a_look() { return {.most = 10'000, .until = steady_now() + 2s}; }

std::string waiting_text(std::int64_t waiting, bool is_cut) {
  return (is_cut ? "at least " : "") + grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, waiting)));
}

// Names the crash too: the class may be in quarantine for another crash meanwhile.
Html release_quarantine_button(const Call& call, const std::string& job_class, const ListedQuarantine& one,
                               bool in_row) {
  if (job_class.empty()) return {};
  return button(call, Url("/quarantine/release").with("class", job_class).with("fingerprint", one.known.fingerprint),
                {one.known.crashes > 0 ? "Release" : "Release the rest", Role::operate, false, in_row});
}

Html crash_of(const ListedQuarantine& one) {
  if (one.known.fingerprint.empty()) return Html("<span class=\"dim\">–</span>");
  return Html("<span class=\"mono\">{}</span>",
              link(Url("/crashes/one").with("fingerprint", one.known.fingerprint), one.known.fingerprint));
}

Html state_of_quarantine(const ListedQuarantine& one) {
  if (one.known.fingerprint.empty()) return badge(Tone::good, "free");
  if (one.known.passed == 0) return badge(Tone::bad, "waits");
  return badge(Tone::warn, fmt::format("{} of {} passed", one.known.passed, probes_needed));
}

std::string class_meant(const Call& call) {
  std::string name = call.query.value("class");
  if (name.empty()) throw Refused(404, "The class is missing.");
  return name;
}

}  // namespace

HttpResponse show_quarantine(Call& call) {
  const QuarantineList list = list_quarantine(call.site.shards(), bounds_of_a_look());
  Page page{.title = "Quarantine", .body = {}};
  page.beside_title = Html("<p class=\"dim\">{} whose jobs wait because they crash</p>",
                           counted(list.classes.size(), "class", "classes"));
  PageTable table("Classes in quarantine, by their names", {{"Class"},
                                                            {"Waiting", PageTable::number},
                                                            {"State"},
                                                            {"Since"},
                                                            {"Crashes", PageTable::number},
                                                            {"Crash"},
                                                            {"Actions", PageTable::actions}});
  const std::size_t number = page_number(call), first = number * classes_a_page;
  std::size_t at = 0;
  for (const auto& [name, one] : list.classes) {
    if (at++ < first || at > first + classes_a_page) continue;
    const bool is_known = one.known.crashes > 0;
    table.add({name.empty() ? Html("<span class=\"dim\">(no job)</span>")
                            : link(Url("/quarantine/one").with("class", name), name),
               Html("{}", waiting_text(one.waiting, list.is_cut)), state_of_quarantine(one),
               is_known ? ago(one.known.since) : Html("<span class=\"dim\">–</span>"),
               is_known ? Html("{}", waiting_text(one.known.crashes, false)) : Html("<span class=\"dim\">–</span>"),
               crash_of(one), release_quarantine_button(call, name, one, true)});
  }
  page.body += table.html(call, list.classes.empty() ? "No class is in quarantine." : "There are no more classes.");
  if (list.classes.size() > classes_a_page)
    page.body += pager(Url("/quarantine"), number, first + classes_a_page < list.classes.size(),
                       counted(list.classes.size(), "class", "classes"));
  return page_response(call, std::move(page));
}

HttpResponse show_one_quarantine(Call& call) {
  const std::string name = class_meant(call);
  ListedQuarantine one;
  std::vector<QuarantinedJob> shown;
  bool is_cut = false;
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    const Reply known = shard.redis.call(ask_quarantined());
    const QuarantinedClasses here = read_quarantined(known.view());
    if (const auto found = here.find(name); found != here.end()) {
      const std::int64_t crashes = one.known.crashes + found->second.crashes;
      if (found->second.since > one.known.since) one.known = found->second;
      one.known.crashes = crashes;
    }
    const QuarantineBounds bounds = bounds_of_a_look();
    std::size_t looked_at = 0;
    is_cut |= !each_quarantined(shard.redis, [&](const QuarantinedJob& job) {
      if (job.job_class == name) {
        ++one.waiting;
        if (shown.size() < most_waiting_shown) shown.push_back({"", "", job.jid, job.queue, job.since});
      }
      return QuarantineStep{.wants_more = ++looked_at < bounds.most && steady_now() < *bounds.until};
    });
  });
  if (one.known.fingerprint.empty() && one.waiting == 0 && !is_cut)
    throw Refused(404, "The class is not in quarantine, and no job of it waits.");
  Page page{.title = name, .body = {}};
  page.beside_title = Html("<div class=\"bulk\">{}</div>", release_quarantine_button(call, name, one, false));
  Facts facts;
  facts.add("State", state_of_quarantine(one));
  facts.add("Waiting", waiting_text(one.waiting, is_cut));
  facts.add("Crash", crash_of(one));
  if (!one.known.fingerprint.empty()) {
    facts.add("Crashes", waiting_text(one.known.crashes, false));
    facts.add("Since", ago(one.known.since));
    facts.add("Libraries", code(one.known.libraries));
  }
  page.body += facts.html();
  page.body += Html(
      "<p>Other libraries are tried automatically: one job at a time, and when {} have not crashed, all go back to "
      "their queues.</p>",
      probes_needed);
  PageTable table("Its waiting jobs, the newest first", {{"Since"}, {"Job"}, {"Queue"}});
  for (const QuarantinedJob& job : shown)
    table.add({ago(job.since),
               Html("<span class=\"mono\">{}</span>", link_by_name(Url("/jobs/one").with("jid", job.jid), job.jid)),
               link_by_name(Url("/queues/one").with("name", job.queue), job.queue)});
  page.body += section("Jobs", table.html(call, "No job of it waits."));
  return page_response(call, std::move(page));
}

// If this takes longer than a step, the next press continues; meanwhile workers release jobs of a free class too.
HttpResponse release_one_quarantine(Call& call) {
  const std::string name = class_meant(call), fingerprint = call.query.value("fingerprint");
  ReleasedJobs done;
  bool was_there = false, is_another = false;
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    const Reply known = shard.redis.call(ask_quarantined());
    const QuarantinedClasses here = read_quarantined(known.view());
    const auto found = here.find(name);
    is_another |= found != here.end() && found->second.fingerprint != fingerprint;
  });
  if (is_another) throw Refused(409, "The class is now in quarantine for another crash: look again.");
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    const Reply known = shard.redis.call(ask_quarantined());
    was_there |= free_class(shard.redis, name, read_quarantined(known.view()));
    done += release_jobs(
        shard.redis, [&](const QuarantinedJob& job) { return job.job_class == name; }, bounds_of_a_look());
  });
  if (!was_there && done.released == 0 && done.refused == 0 && !done.is_cut)
    throw Refused(409, "The class is not in quarantine any more, and no job of it waits.");
  call.changed = static_cast<std::uint64_t>(done.released);
  return see_other(
      call, Url("/quarantine"),
      fmt::format("{} was released; {} went back to {}{}{}", name,
                  counted(static_cast<std::size_t>(done.released), "job", "jobs"),
                  done.released == 1 ? "its queue" : "their queues", done.is_cut ? ", others may still wait." : ".",
                  done.refused > 0 ? " " + refused_text(done) : ""));
}

HttpResponse answer_quarantine(Call& call) {
  const QuarantineList list = list_quarantine(call.site.shards(), bounds_of_a_look());
  std::vector<std::pair<std::string, ListedQuarantine>> all(list.classes.begin(), list.classes.end());
  if (all.size() > most_classes_answered) all.resize(most_classes_answered);
  return json_answer(200, json_array(all, [](const auto& one) { return quarantine_json(one.first, one.second); }));
}

}  // namespace brood
