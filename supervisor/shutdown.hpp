#pragma once

#include <optional>
#include <string>
#include <utility>

#include "shared/base/clock.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/recovery/orphan_watch.hpp"
#include "supervisor/recovery/recovery_children.hpp"
#include "supervisor/redis/redis_link.hpp"
#include "supervisor/report/heartbeat.hpp"

namespace brood {

// The last steps of a supervisor, one after the other, once every worker is reaped: what they held is recovered, the
// process leaves Sidekiq's list, and an embedded redis-server ends last.  Each has its time, since nobody waits longer
// for a Redis that is away: the lists stay in it, and the next start recovers them.
class Shutdown {
 public:
  Shutdown(EventLoop& loop, std::string identity, RecoveryChildren& recovery, RedisLink& redis, Heartbeat& heartbeat,
           OrphanWatch& orphan_watch)
      : identity_(std::move(identity)),
        recovery_(recovery),
        redis_(redis),
        heartbeat_(heartbeat),
        orphan_watch_(orphan_watch),
        wake_(loop) {}

  void begin(SteadyTime now);  // once; further calls do nothing
  void advance(SteadyTime now);
  bool done() const { return step_ == Step::done; }

  // A sweep or recovery of another supervisor's jobs that is still under way is begun anew by whoever starts next.
  bool recovered_our_own() const { return recovery_.fields_of(identity_).empty(); }

 private:
  enum class Step { not_yet, recovering, reporting, stopping_redis, done };

  void go_on(SteadyTime now);
  void recover(SteadyTime now);
  void stop_redis(SteadyTime now);
  std::optional<SteadyTime> next_look(SteadyTime now) const;

  const std::string identity_;
  RecoveryChildren& recovery_;
  RedisLink& redis_;
  Heartbeat& heartbeat_;
  OrphanWatch& orphan_watch_;
  Step step_ = Step::not_yet;
  SteadyTime deadline_{};
  Timer wake_;  // for advance()
};

}  // namespace brood
