#include "shared/api/readings.hpp"

#include <cmath>
#include <set>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/store/scan.hpp"

namespace brood {

Time lenient_time(double epoch_seconds) {
  if (!(std::abs(epoch_seconds) < 9.2e9)) return {};
  const double whole = std::floor(epoch_seconds);
  return to_time(WallTime(std::chrono::seconds(static_cast<std::int64_t>(whole)) +
                          std::chrono::nanoseconds(std::llround((epoch_seconds - whole) * 1e9))));
}

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

}  // namespace brood
