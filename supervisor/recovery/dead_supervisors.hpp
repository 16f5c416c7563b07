#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "shared/base/clock.hpp"
#include "supervisor/recovery/dead_files.hpp"
#include "supervisor/recovery/judge_supervisor_deaths.hpp"
#include "supervisor/recovery/orphan_watch.hpp"
#include "supervisor/recovery/recovery_children.hpp"
#include "supervisor/report/process_pruning.hpp"

namespace brood {

// Takes over what dead supervisors left.  First the jobs of each of their workers once that is gone too, by its record
// in the scoreboard file, which outlives them; then the rest of their in-flight hash, and the file.
class DeadSupervisors : public OrphanWatch::Listener {
 public:
  // `own` is our identity's name.  A supervisor that is gone with all its workers is taken off Sidekiq's list too.
  // `shard` is the number of the shard that is looked at, as `files` counts them.
  DeadSupervisors(RecoveryChildren& recovery, ProcessPruning& pruning, DeadFiles& files, int shard, std::string own,
                  std::string runtime_directory);

  // Called for as long as the dead one is listed in Redis.
  void handle(const DeadSupervisor& dead, SteadyTime now) override;

  // Recovers what a worker of ours left under this field; nothing else is known of that worker.
  void handle_field(const std::string& field) override;

  // Called after each look at that list.  When the last worker of a dead supervisor leaves or is recovered, its
  // supervisor is taken off the list, and only the file is left to remove.  Files of supervisors that are not listed
  // are removed too, from the first look until the last of their workers has left, and once an hour: those had nothing
  // in flight, their heir died before it could remove them, or a job has made them.  A supervisor that is `listed` may
  // live, even if its file is here: a clone of this machine has the same file.
  void end_look(const std::set<std::string>& listed, SteadyTime now) override;

 private:
  struct Progress {
    SteadyTime first_seen{};
    std::string scoreboard;               // path; empty: another host's, or not found
    bool is_proven_dead = false;          // else only its heartbeat is missing, and may come again
    bool still_listed = true;             // at the look under way
    std::set<std::uint64_t> handed_over;  // incarnations
    bool orphans_handed_over = false;
    std::set<pid_t> spared;  // processes that outlived it, and that nothing proves to be its workers
  };

  enum class Workers {
    alive,    // some are
    gone,     // all are, and handed over
    unknown,  // the file is not there or not readable
  };
  Workers hand_over_dead_workers(const Identity& dead, Progress& progress, SteadyTime now, bool is_proven_dead);
  void close(const std::string& name);
  // A bounded number.  False: some are to be looked at, or to be looked at again.
  bool remove_forgotten_files();

  RecoveryChildren& recovery_;
  ProcessPruning& pruning_;
  DeadFiles& files_;
  const int shard_;
  const std::string own_;
  const std::string runtime_directory_;
  SteadyTime next_look_at_forgotten_files_{};
  std::string last_file_looked_at_;  // empty: begin anew
  bool some_files_stay_ = false;     // of those that were looked at since it began
  std::map<std::string, Progress> progress_;
};

}  // namespace brood
