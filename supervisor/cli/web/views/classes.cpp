#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/web/page/layout.hpp"
#include "supervisor/cli/web/page/parts.hpp"
#include "supervisor/cli/web/page/site.hpp"

namespace brood {
namespace {

std::string share_text(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? "" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(all));
}

}  // namespace

HttpResponse show_classes(Call& call) {
  StatusReport report = call.site.machine();
  std::vector<ClassUsage>& classes = report.machine.classes;
  std::sort(classes.begin(), classes.end(),
            [](const auto& one, const auto& other) { return one.cpu_us > other.cpu_us; });
  std::uint64_t cpu_us = 0;
  for (const ClassUsage& usage : classes) cpu_us += usage.cpu_us;
  Page page{.title = "Classes", .body = {}};
  page.beside_title = Html("<p class=\"dim\">what each has cost on this machine since its supervisor began</p>");
  PageTable table("Classes, by their processor time", {{"Class"},
                                                       {"Runs", PageTable::number},
                                                       {"Failed", PageTable::number},
                                                       {"Crashed", PageTable::number},
                                                       {"Processor", PageTable::number},
                                                       {"A run", PageTable::number},
                                                       {"Peak memory", PageTable::number},
                                                       {"Isolation"}});
  for (const ClassUsage& usage : classes) {
    const std::string name = usage.job_class.empty() ? "(others)" : usage.job_class;
    table.add(
        {Html("{}{}", code(name), usage.preceding ? Html("<small>{}</small>", preceding_class_text(usage)) : Html()),
         Html("{}", grouped(usage.runs)),
         usage.failed > 0 ? badge(Tone::warn, grouped(usage.failed)) : Html("<span class=\"dim\">0</span>"),
         usage.crashed > 0 ? badge(Tone::bad, grouped(usage.crashed)) : Html("<span class=\"dim\">0</span>"),
         Html("{}<small>{}</small>", length_text(static_cast<double>(usage.cpu_us) / 1e6),
              share_text(usage.cpu_us, cpu_us)),
         Html("{}", usage.runs > 0
                        ? length_text(static_cast<double>(usage.wall_us) / 1e6 / static_cast<double>(usage.runs))
                        : "–"),
         Html("{}", memory_text(usage.peak_rss_kb)), Html("{}", usage.isolated ? "process" : "worker")});
  }
  page.body += table.html(call, "No job has run on this machine.");
  return page_response(call, std::move(page));
}

}  // namespace brood
