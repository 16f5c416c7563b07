#pragma once

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/ruby_processes_look.hpp"

namespace brood {

// One of our queues from which a Ruby process fetches too.  Each takes jobs meant for the other: Ruby has no class for
// brood's jobs, and brood none for Ruby's.
struct QueueRivalry {
  std::string queue, process;
};

// One for each queue and process; our patterns match their queues.  Pure.
std::vector<QueueRivalry> queue_rivalries(const std::vector<CapsuleSettings>& ours,
                                          const std::vector<RubyProcess>& theirs);

std::string describe(const QueueRivalry& rivalry);

// Warns of rivalries in the log, once for as long as each lasts.
class QueueRivals {
 public:
  QueueRivals(EventLoop& loop, AsyncConnection& redis, std::chrono::nanoseconds between_looks = std::chrono::minutes(2))
      : look_(redis), between_looks_(between_looks), again_(loop, [this] { ask(); }) {}

  // Looks now which processes live.  Call it when Redis has become usable, and when our queues have changed.  It then
  // looks again by itself, since Ruby's processes may start later.
  void look(const std::vector<CapsuleSettings>& ours);
  void stop();

 private:
  void ask();
  void warn_of(const std::vector<RubyProcess>& processes);

  RubyProcessesLook look_;
  const std::chrono::nanoseconds between_looks_;
  Timer again_;
  std::vector<CapsuleSettings> ours_;
  std::set<std::pair<std::string, std::string>> said_;  // queue and process
};

}  // namespace brood
