#include "shared/store/sets/scheduler_lock.hpp"

#include <string>

#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"

namespace brood {

namespace scripts {
extern const Script keep_scheduler_lock;
}

std::vector<Command> take_scheduler_lock(std::string_view identity, std::chrono::milliseconds lifetime) {
  return {{"SET", keys::brood_scheduler, identity, "NX", "PX", std::to_string(lifetime.count())},
          {"GET", keys::brood_scheduler}};
}

SchedulerLock read_scheduler_lock(ReplyView last, std::string_view identity) {
  if (!last.is_string()) return SchedulerLock::none;
  return last.text() == identity ? SchedulerLock::ours : SchedulerLock::of_another;
}

Command keep_scheduler_lock(std::string_view identity, std::chrono::milliseconds lifetime) {
  const ScriptCall call{&scripts::keep_scheduler_lock,
                        {keys::brood_scheduler},
                        {std::string(identity), std::to_string(lifetime.count())}};
  return call.command();
}

Command end_scheduler_lock() { return {"DEL", keys::brood_scheduler}; }

}  // namespace brood
