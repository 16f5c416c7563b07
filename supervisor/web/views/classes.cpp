#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/base/units.hpp"
#include "supervisor/cli/access/ask_published_classes.hpp"
#include "supervisor/cli/lists/class_list.hpp"
#include "supervisor/cli/lists/shown_class.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/json_answer.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

std::string share_text(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? "" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(all));
}

constexpr std::chrono::seconds most_of_a_look{2};
constexpr std::size_t most_published_shown = 1'000;

// The class, from the address of a button in the table, or from the form.
std::string said_of_pause(const Call& call, const std::string& name) {
  std::string said = call.query.value(name);
  return said.empty() ? call.form.value(name) : said;
}

std::string class_to_pause(const Call& call) {
  std::string name = said_of_pause(call, "class");
  if (name.empty()) throw Refused(404, "The class is missing.");
  return name;
}

// Read as by `brood classes pause --until`.
std::optional<std::chrono::seconds> length_of_pause(const Call& call) {
  const std::string text = said_of_pause(call, "until");
  if (text.empty()) return std::nullopt;
  const auto length = parse_duration(text);
  if (!length || *length < std::chrono::seconds(1) || *length > longest_class_pause)
    throw Refused(400, "\"until\" is no duration of 1s to a year, such as 30m.");
  return std::chrono::ceil<std::chrono::seconds>(*length);
}

Html pause_class_button(const Call& call, const std::string& name, bool paused) {
  if (name.empty()) return {};
  if (paused) return button(call, Url("/classes/unpause").with("class", name), {"Unpause", Role::operate, false, true});
  return button(call, Url("/classes/pause").with("class", name), {"Pause", Role::operate, false, true});
}

Html pause_class_form(const Call& call) {
  if (!call.may(Role::operate)) return {};
  return section("Pause a class", Html("<form class=\"filter\" method=\"post\" action=\"{}\">{}"
                                       "<label>Class<input name=\"class\" required autocomplete=\"off\"></label>"
                                       "<label>Reason<input name=\"reason\" maxlength=\"{}\" "
                                       "placeholder=\"may be left out\" autocomplete=\"off\"></label>"
                                       "<label>For<input name=\"until\" placeholder=\"30m, 2h; empty: until it is "
                                       "unpaused\" autocomplete=\"off\"></label>"
                                       "<button class=\"big\">Pause</button></form>",
                                       Url("/classes/pause"), token_field(call), longest_pause_reason));
}

// Adds rows for paused classes that have not run here.
void add_paused(std::vector<ClassUsage>& classes, const NameSet& paused) {
  NameSet known;
  for (const ClassUsage& usage : classes) known.insert(usage.job_class);
  for (const std::string& name : paused) {
    if (known.contains(name)) continue;
    ClassUsage& added = classes.emplace_back();
    added.job_class = name;
  }
}

Html published_section(Call& call) {
  const PublishedClasses published = published_classes_for_push(call.site.shards());
  PageTable table("Published classes", {{"Class"}, {"Queue"}, {"Fields"}});
  for (const std::string& name : published.names()) {
    const std::vector<PublishedClasses::Said> said = published.find(name);
    if (said.empty() || table.rows() == most_published_shown) continue;
    table.add({link_by_name(Url("/classes/one").with("class", name), name), code(said.front().known.queue),
               Html("{}", signature_of(said.front().known).substr(name.size()))});
  }
  return section("Published by workers", table.html(call, "No worker has published its job classes."));
}

// Cut between two characters.
std::string reason_of_pause(const Call& call) {
  std::string reason = said_of_pause(call, "reason");
  const auto is_inside_character = [&](std::size_t at) {
    return (static_cast<unsigned char>(reason[at]) & 0xC0) == 0x80;
  };
  if (reason.size() <= longest_pause_reason) return reason;
  std::size_t end = longest_pause_reason;
  while (end > 0 && is_inside_character(end)) --end;
  return reason.substr(0, end);
}

}  // namespace

HttpResponse show_classes(Call& call) {
  StatusReport report = call.site.everything();
  std::vector<ClassUsage>& classes = report.machine.classes;
  const NameSet paused = report.redis ? report.redis->paused_classes : NameSet();
  const ClassPauses pauses = report.redis ? report.redis->class_pauses : ClassPauses();
  add_paused(classes, paused);
  std::sort(classes.begin(), classes.end(),
            [](const auto& one, const auto& other) { return one.cpu_us > other.cpu_us; });
  std::uint64_t cpu_us = 0;
  for (const ClassUsage& usage : classes) cpu_us += usage.cpu_us;
  Page page{.title = "Classes", .body = {}};
  page.beside_title = Html("<p class=\"dim\">cost of each on this machine since its supervisor began</p>");
  PageTable table("Classes, by their processor time", {{"Class"},
                                                       {"Runs", PageTable::number},
                                                       {"Failed", PageTable::number},
                                                       {"Crashed", PageTable::number},
                                                       {"Processor", PageTable::number},
                                                       {"A run", PageTable::number},
                                                       {"Peak memory", PageTable::number},
                                                       {"Isolation"},
                                                       {"Actions", PageTable::actions}});
  for (const ClassUsage& usage : classes) {
    const std::string name = usage.job_class.empty() ? "(others)" : usage.job_class;
    const auto pause = pauses.find(usage.job_class);
    table.add({Html("{}{}{}", code(name), pause == pauses.end() ? Html() : badge(Tone::warn, pause_text(pause->second)),
                    usage.preceding ? Html("<small>{}</small>", preceding_class_text(usage)) : Html()),
               Html("{}", grouped(usage.runs)),
               usage.failed > 0 ? badge(Tone::warn, grouped(usage.failed)) : Html("<span class=\"dim\">0</span>"),
               usage.crashed > 0 ? badge(Tone::bad, grouped(usage.crashed)) : Html("<span class=\"dim\">0</span>"),
               Html("{}<small>{}</small>", length_text(static_cast<double>(usage.cpu_us) / 1e6),
                    share_text(usage.cpu_us, cpu_us)),
               Html("{}", usage.runs > 0
                              ? length_text(static_cast<double>(usage.wall_us) / 1e6 / static_cast<double>(usage.runs))
                              : "–"),
               Html("{}", memory_text(usage.peak_rss_kb)), Html("{}", usage.isolated ? "process" : "worker"),
               report.redis ? pause_class_button(call, usage.job_class, paused.contains(usage.job_class)) : Html()});
  }
  page.body += table.html(call, "No job has run on this machine.");
  if (report.redis) page.body += pause_class_form(call);
  page.body += published_section(call);
  return page_response(call, std::move(page));
}

HttpResponse pause_one_class(Call& call) {
  const std::string name = class_to_pause(call);
  pause_class_of(call.site.shards(), name, reason_of_pause(call), length_of_pause(call));
  return see_other(call, Url("/classes"), "The class " + name + " is paused: workers follow within two seconds.");
}

// If this takes longer than a step, workers put the rest back later.
HttpResponse unpause_one_class(Call& call) {
  const std::string name = class_to_pause(call);
  const ReleasedJobs done = unpause_class_of(call.site.shards(), name, {.until = steady_now() + most_of_a_look});
  call.changed = static_cast<std::uint64_t>(done.released);
  return see_other(
      call, Url("/classes"),
      fmt::format("The class {} is not paused any more; {} put back{}{}", name,
                  counted(static_cast<std::size_t>(done.released), "job", "jobs"),
                  done.is_cut ? ", and others follow." : ".", done.refused > 0 ? " " + refused_text(done) : ""));
}

HttpResponse answer_classes(Call& call) {
  const StatusReport here = call.site.machine();
  const QuarantineBounds bounds{.most = 10'000, .until = steady_now() + most_of_a_look};
  return json_answer(200, json_array(list_classes(call.site.shards(), here.machine.classes, bounds), class_json));
}

}  // namespace brood
