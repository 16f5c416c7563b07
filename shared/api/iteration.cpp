#include "shared/store/iteration.hpp"

#include "shared/api/api_state.hpp"
#include "shared/api/readings.hpp"

namespace brood {

// If several shards have a record, the one of the shard where the job has begun counts: a cancellation is noted in all
// shards.
std::optional<IterationRecord> Api::iteration(std::string_view jid) {
  std::optional<IterationRecord> found;
  shards_->each([&](detail::ApiState& shard) {
    auto here = shard.converse([&](ClientConnection& redis) -> std::optional<IterationRecord> {
      const Reply reply = redis.call(load_iteration(jid));
      if (reply.view().size() == 0) return std::nullopt;
      const IterationState state = read_iteration(reply.view());
      IterationRecord record{state.executions, state.cursor, state.run_seconds};
      if (state.cancelled) record.cancelled_at = lenient_time(static_cast<double>(*state.cancelled));
      return record;
    });
    if (here && (!found || here->executions > found->executions)) found = std::move(here);
  });
  return found;
}

}  // namespace brood
