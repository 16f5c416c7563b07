#pragma once

#include <optional>
#include <string>
#include <utility>

#include "shared/base/clock.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/shards/shard.hpp"

namespace brood {

// The last steps of a supervisor, once every worker is reaped: recovers the workers' jobs, leaves Sidekiq's list of
// processes in every shard, and ends the embedded redis-server.  Each step has a deadline, so that a stop does not wait
// long for an absent Redis: jobs in flight stay there, and the next start recovers them.
class Shutdown {
 public:
  Shutdown(EventLoop& loop, std::string identity, const Shards& shards)
      : identity_(std::move(identity)), shards_(shards), wake_(loop) {}

  void begin(SteadyTime now);  // once; further calls do nothing
  void advance(SteadyTime now);
  bool done() const { return step_ == Step::done; }

  // Whether all of our own jobs are recovered.  A sweep or a recovery of another supervisor's jobs may still be under
  // way; the next start begins it anew.
  bool recovered_our_own() const;

 private:
  enum class Step { not_yet, recovering, reporting, stopping_redis, done };

  std::size_t unrecovered() const;  // dead workers whose jobs are not recovered, in all shards
  void go_on(SteadyTime now);
  void recover(SteadyTime now);
  void report();
  void stop_redis(SteadyTime now);
  bool has_recovered_our_own(const Shard& shard) const { return shard.recovery().fields_of(identity_).empty(); }
  std::optional<SteadyTime> next_look(SteadyTime now) const;

  const std::string identity_;
  const Shards& shards_;
  Step step_ = Step::not_yet;
  SteadyTime deadline_{};
  Timer wake_;  // for advance()
};

}  // namespace brood
