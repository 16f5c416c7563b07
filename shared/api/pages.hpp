#pragma once

#include <string>
#include <string_view>

namespace brood {

// The indexes of one page, as LRANGE and ZRANGE take them.  Throws std::invalid_argument for an empty page and one
// beyond all that Redis can hold.
struct PageRange {
  std::string first, last;
};
PageRange page_range(std::size_t number, std::size_t per_page);

// How long this job has waited in its queue, in seconds; 0 if its payload has no such time.
double latency_of(std::string_view payload);

}  // namespace brood
