#include "shared/api/pages.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "shared/job/payload.hpp"

namespace brood {

PageRange page_range(std::size_t number, std::size_t per_page) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  if (per_page == 0) throw std::invalid_argument("a page has one entry at least");
  if (per_page > most || number >= most / per_page) throw std::invalid_argument("there is no such page");
  const std::size_t first = number * per_page;
  return {std::to_string(first), std::to_string(first + per_page - 1)};
}

double latency_of(std::string_view payload) {
  try {
    return std::max(0.0, Payload::parse(payload).latency_seconds(wall_now()));
  } catch (const BadPayload&) {
    return 0;
  }
}

}  // namespace brood
