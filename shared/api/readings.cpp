#include "shared/api/readings.hpp"

#include <set>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/api/entries.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/scan.hpp"

namespace brood {

Time lenient_time(double epoch_seconds) { return to_time(lenient_moment(epoch_seconds)); }

namespace {

constexpr std::size_t names_at_once = 1000;

}  // namespace

std::vector<std::string> all_names(ClientConnection& redis, const NamePages& pages) {
  std::set<std::string> names;  // one may come twice
  std::string position(scan_begins);
  do {
    const Reply reply = redis.call(pages.ask(position, names_at_once));
    ScanPage page = read_scan(reply.view());
    position = std::move(page.next);
    for (std::size_t i = 0; i < page.found.size(); ++i) names.emplace(page.found[i].text());
  } while (position != scan_begins);
  return {names.begin(), names.end()};
}

QueueSummary summary_of(std::string name, const QueueGlance& glance) {
  QueueSummary summary{.name = std::move(name)};
  summary.is_list = glance.jobs.has_value();
  summary.size = static_cast<std::size_t>(glance.jobs.value_or(0));
  summary.latency = glance.next_job ? latency_of(*glance.next_job) : 0;
  summary.paused = glance.paused;
  return summary;
}

}  // namespace brood
