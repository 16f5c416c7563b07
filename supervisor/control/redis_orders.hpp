#pragma once

#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/store/report/fleet_word.hpp"
#include "shared/store/report/supervisor_state.hpp"
#include "supervisor/control/control_protocol.hpp"

namespace brood {

// The last orders that came through Redis with an id, and the state of each.  The heartbeat shows them: that is the
// answer to the command that gave them.  Pure.
class RedisOrders {
 public:
  enum class Reception {
    follow,    // it is noted as under way
    repeated,  // it came before
    expired,   // it lay in Redis for too long: it is noted, and must not be followed
  };
  // `now` is the time of Redis.
  Reception take(const FleetWord& word, WallTime now);

  // Notes the line that the control socket would have sent to a client with this order.  Ignores a forgotten order.
  void note(const std::string& id, const ControlLine& line);

  const std::vector<OrderState>& newest_first() const { return orders_; }

 private:
  static constexpr std::size_t most_kept = 4;

  std::vector<OrderState> orders_;
};

}  // namespace brood
