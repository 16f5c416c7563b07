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

// Takes over what dead supervisors left: each of their workers once it too is gone, by the record in the scoreboard
// file that outlived them; then the rest of their in-flight hash, and the file.
class DeadSupervisors : public OrphanWatch::Heir {
 public:
  // `own` is our identity's name.  Each that is gone with all its workers is taken off Sidekiq's list too.  `shard` is
  // the one that is looked at, whose number `files` knows.
  DeadSupervisors(RecoveryChildren& recovery, ProcessPruning& pruning, DeadFiles& files, int shard, std::string own,
                  std::string runtime_directory);

  // Called for as long as the dead one is listed in Redis.
  void handle(const DeadSupervisor& dead, SteadyTime now) override;

  // Recovers what a worker of ours has left, of which nothing else is known.
  void handle_field(const std::string& field) override;

  // Called after each look at that list.  The last of a dead one's workers takes its supervisor off the list, whether
  // it left by itself or was recovered: then only the file is left to remove.  From the first look on, until the last
  // of their workers has left, the same is done for files that nobody is listed for: those had nothing in flight, or
  // their heir died before it could.
  // Who is `listed` may live, even if its file is here: a clone of this machine has the same.
  void end_look(const std::set<std::string>& listed) override;

 private:
  struct Progress {
    SteadyTime first_seen{};
    std::string scoreboard;               // path; empty: another host's, or not found
    bool is_proven_dead = false;          // else only its heartbeat says so, and may come again
    bool still_listed = true;             // at the look under way
    std::set<std::uint64_t> handed_over;  // incarnations
    bool orphans_handed_over = false;
  };

  enum class Workers {
    alive,    // some are
    gone,     // all are, and handed over
    unknown,  // the file is not there or not readable
  };
  Workers hand_over_dead_workers(const std::string& name, Progress& progress, SteadyTime now, bool is_proven_dead);
  void close(const std::string& name);
  // False: some are to be looked at again.
  bool remove_forgotten_files() const;

  RecoveryChildren& recovery_;
  ProcessPruning& pruning_;
  DeadFiles& files_;
  const int shard_;
  const std::string own_;
  const std::string runtime_directory_;
  bool has_removed_forgotten_files_ = false;
  std::map<std::string, Progress> progress_;
};

}  // namespace brood
