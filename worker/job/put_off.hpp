#pragma once

#include <optional>
#include <vector>

#include "shared/job/payload.hpp"
#include "worker/job/perform.hpp"

namespace brood {

// A job that failed since a limit was reached is put off instead, for as long as it says or 5 minutes more each time,
// unless it was put off too often already: then it has failed.  `jitter` is a number in [0, 1) that picks the usual
// delay's.  Pure.
Performed put_off_over_limit(Performed performed, const Payload& job, double jitter);

// How its payload changes.
std::vector<Payload::Edit> put_off_once_more(const Payload& job);
// One that has failed begins to count anew; nullopt: it counts none.
std::optional<Payload> without_put_offs(const Payload& job);

}  // namespace brood
