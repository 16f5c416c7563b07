#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/queues/class_pauses.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// When the earliest of these pauses ends; nullopt if none has an end.  Pure.
std::optional<std::int64_t> next_end_of(const ClassPauses& pauses);

// Ends the pauses of job classes that have an end, by the clock of Redis.  Every supervisor tries, and Redis lets one
// of them succeed.  Asks nothing while no class is paused.
class ClassPauseEnds {
 public:
  ClassPauseEnds(EventLoop& loop, AsyncConnection& redis);
  ClassPauseEnds(const ClassPauseEnds&) = delete;
  ClassPauseEnds& operator=(const ClassPauseEnds&) = delete;

  // Call it when the paused classes have been read.
  void look(const NameSet& paused);
  void stop();

 private:
  void ask();
  void read(const NameSet& paused, const ClassPauses& pauses, WallTime now);
  void tell(const std::string& job_class, const ClassPause& pause);

  AsyncConnection::Scope redis_;
  Timer next_;
  NameSet paused_;
  bool may_have_pauses_ = false, asking_ = false, ask_again_ = false;
  std::map<std::string, std::string> told_;  // the text in the log, by class
};

}  // namespace brood
