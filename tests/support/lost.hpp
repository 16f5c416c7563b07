#pragma once

#include "shared/redis/connection_lost.hpp"

namespace brood {

// For BOOST_CHECK_EXCEPTION: whether the connection was lost in this way.
inline auto lost_by(Loss why) {
  return [why](const ConnectionLost& lost) { return lost.why == why; };
}

}  // namespace brood
