#include "shared/store/sets/scheduler_lock.hpp"

#include <string>

#include "shared/store/keys.hpp"

namespace brood {

std::vector<Command> take_scheduler_lock(std::string_view identity, std::chrono::milliseconds lifetime) {
  return {{"SET", keys::brood_scheduler, identity, "NX", "PX", std::to_string(lifetime.count())},
          {"GET", keys::brood_scheduler}};
}

SchedulerLock read_scheduler_lock(ReplyView last, std::string_view identity) {
  if (!last.is_string()) return SchedulerLock::none;
  return last.text() == identity ? SchedulerLock::ours : SchedulerLock::of_another;
}

Command keep_scheduler_lock(std::chrono::milliseconds lifetime) {
  return {"PEXPIRE", keys::brood_scheduler, std::to_string(lifetime.count())};
}

Command end_scheduler_lock() { return {"DEL", keys::brood_scheduler}; }

}  // namespace brood
