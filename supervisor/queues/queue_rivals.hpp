#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "supervisor/queues/ruby_processes_look.hpp"

namespace brood {

// A queue of ours from which a Ruby process fetches too.  Each takes jobs that are meant for the other: Ruby finds no
// class for a job of brood's, and brood none for a job of Ruby's.
struct QueueRivalry {
  std::string queue, process;
};

// Pure.  One for each queue and process; "*" among ours means all of theirs.
std::vector<QueueRivalry> queue_rivalries(const std::vector<CapsuleSettings>& ours,
                                          const std::vector<RubyProcess>& theirs);

// One sentence about it.
std::string describe(const QueueRivalry& rivalry);

// Warns of rivalries in the log, of each once.
class QueueRivals {
 public:
  explicit QueueRivals(AsyncConnection& redis) : look_(redis) {}

  // Looks who lives, now: when Redis has become usable, and when our queues have changed.
  void look(const std::vector<CapsuleSettings>& ours);

 private:
  void warn_of(const std::vector<RubyProcess>& processes);

  RubyProcessesLook look_;
  std::vector<CapsuleSettings> ours_;
  std::set<std::pair<std::string, std::string>> said_;  // queue and process
};

}  // namespace brood
