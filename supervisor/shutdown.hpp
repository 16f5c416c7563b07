#pragma once

#include <optional>
#include <string>
#include <utility>

#include "shared/base/clock.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/shards/shard.hpp"

namespace brood {

// The last steps of a supervisor, one after the other, once every worker is reaped: what they held is recovered, the
// process leaves Sidekiq's list, in every shard, and an embedded redis-server ends last.  Each has its time, since
// nobody waits longer for a Redis that is away: the lists stay in it, and the next start recovers them.
class Shutdown {
 public:
  Shutdown(EventLoop& loop, std::string identity, Shards& shards)
      : identity_(std::move(identity)), shards_(shards), wake_(loop) {}

  void begin(SteadyTime now);  // once; further calls do nothing
  void advance(SteadyTime now);
  bool done() const { return step_ == Step::done; }

  // A sweep or recovery of another supervisor's jobs that is still under way is begun anew by whoever starts next.
  bool recovered_our_own() const;

 private:
  enum class Step { not_yet, recovering, reporting, stopping_redis, done };

  void go_on(SteadyTime now);
  void recover(SteadyTime now);
  void report();
  void stop_redis(SteadyTime now);
  bool has_recovered_our_own(const Shard& shard) const { return shard.recovery().fields_of(identity_).empty(); }
  std::optional<SteadyTime> next_look(SteadyTime now) const;

  const std::string identity_;
  Shards& shards_;
  int reporting_ = 0;  // heartbeats that have not ended yet
  Step step_ = Step::not_yet;
  SteadyTime deadline_{};
  Timer wake_;  // for advance()
};

}  // namespace brood
