#include "shared/periodic/zone.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "shared/base/nearest.hpp"

// The standard library of g++ 13 has what Howard Hinnant's library gave it.
#if defined(BROOD_ZONES_BY_DATE)
#include <date/tz.h>
#else
#include <chrono>
#endif

namespace brood {
namespace {

#if defined(BROOD_ZONES_BY_DATE)
namespace zones = date;
#else
namespace zones = std::chrono;
#endif

using namespace std::chrono;

// Where a zone's data begin and end, there are moments that cannot be counted with.
constexpr sys_seconds first_moment = sys_days(year(1800) / 1 / 1), last_moment = sys_days(year(2250) / 1 / 1);

sys_seconds bounded(sys_seconds moment) { return std::clamp(moment, first_moment, last_moment); }

}  // namespace

std::optional<Zone> Zone::find(std::string_view name) {
  Zone zone;
  if (name == "UTC") return zone;
  try {
    const zones::time_zone* const found = zones::locate_zone(name);
    found->get_info(first_moment);  // reads the zone's own data
    zone.name_ = name;
    zone.data_ = found;
    return zone;
  } catch (const std::exception&) {  // of several kinds
    return std::nullopt;
  }
}

std::optional<std::string> Zone::like(const std::string& name) {
  std::vector<std::string> known{"UTC"};
  try {
    for (const auto& zone : zones::get_tzdb().zones) known.emplace_back(zone.name());
  } catch (const std::exception&) {  // there are no data
  }
  return nearest(name, known);
}

Zone::Span Zone::around(sys_seconds moment) const {
  if (!data_) return {first_moment, last_moment, seconds(0)};
  const auto info = static_cast<const zones::time_zone*>(data_)->get_info(moment);
  return {bounded(info.begin), bounded(info.end), info.offset};
}

}  // namespace brood
