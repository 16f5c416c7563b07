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

// Takes over what dead supervisors left.  First the jobs of each worker that has ended too, by its record in the
// scoreboard file, which outlives both; then the rest of their in-flight hash, and the file.
class DeadSupervisors : public OrphanWatch::Listener {
 public:
  // `own` is our identity's name.  A supervisor that is gone with all its workers is also removed from Sidekiq's list.
  // `shard` is the number of the shard that is looked at, as `files` counts them.
  DeadSupervisors(RecoveryChildren& recovery, ProcessPruning& pruning, DeadFiles& files, int shard, std::string own,
                  std::string runtime_directory);

  // Called at each look for as long as the dead supervisor is listed in Redis.
  void handle(const DeadSupervisor& dead, SteadyTime now) override;

  // Recovers what an otherwise unknown worker of ours left under this field.
  void handle_field(const std::string& field) override;

  // Call it after each look at that list.
  //
  // When the last worker of a dead supervisor has left or is recovered, takes the supervisor off the list; then only
  // its file is left to remove.
  //
  // Also removes files of supervisors that are not listed, from the first look until the last of their workers has
  // left, and then once an hour.  Such supervisors had nothing in flight, or their heir died before it could remove the
  // file, or a job has made the file.  A supervisor that is `listed` may live, even if its file is here: a clone of
  // this machine has the same file.
  void end_look(const std::set<std::string>& listed, SteadyTime now) override;

 private:
  struct Progress {
    SteadyTime first_seen{};
    std::string scoreboard;               // path; empty: on another host, or not found
    bool is_proven_dead = false;          // else only its heartbeat is missing, and may return
    bool still_listed = true;             // in the present look
    std::set<std::uint64_t> handed_over;  // incarnations
    bool orphans_handed_over = false;
    std::set<pid_t> spared;  // processes that outlived it without proof that they are its workers
  };

  enum class Workers {
    alive,    // at least one lives
    gone,     // all are gone, and handed over
    unknown,  // the file is missing or not readable
  };
  Workers hand_over_dead_workers(const Identity& dead, Progress& progress, SteadyTime now, bool is_proven_dead);
  void close(const std::string& name);
  // Looks at a bounded number of files.  Returns false if some are left to look at, perhaps again.
  bool remove_forgotten_files();

  RecoveryChildren& recovery_;
  ProcessPruning& pruning_;
  DeadFiles& files_;
  const int shard_;
  const std::string own_;
  const std::string runtime_directory_;
  SteadyTime next_look_at_forgotten_files_{};
  std::string last_file_looked_at_;  // empty: begins anew
  bool some_files_stay_ = false;     // among those looked at since it began
  std::map<std::string, Progress> progress_;
};

}  // namespace brood
