#include "shared/store/iteration.hpp"

#include "shared/api/api_state.hpp"
#include "shared/api/readings.hpp"

namespace brood {

std::optional<IterationRecord> Api::iteration(std::string_view jid) {
  return state_->converse([&](ClientConnection& redis) -> std::optional<IterationRecord> {
    const Reply reply = redis.call(load_iteration(jid));
    if (reply.view().size() == 0) return std::nullopt;
    const IterationState state = read_iteration(reply.view());
    IterationRecord record{state.executions, state.cursor, state.run_seconds};
    if (state.cancelled) record.cancelled_at = lenient_time(static_cast<double>(*state.cancelled));
    return record;
  });
}

}  // namespace brood
