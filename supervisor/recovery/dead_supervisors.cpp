#include "supervisor/recovery/dead_supervisors.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/recovery/workers_left.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// Without the scoreboard we do not know a dead supervisor's workers; after this time their own alarm has ended them.
constexpr auto workers_are_gone_after = 60s;
constexpr auto forgotten_files_are_kept = 24h;
constexpr auto between_looks_at_forgotten_files = 1h;
// A job can create any number of files, and the supervisor must not be held up.
constexpr std::size_t most_files_in_a_look = 32;

// A job may have written both the supervisor's record and its scoreboard: only the kernel's facts about a process prove
// that this supervisor started it.  The pidfd keeps the pid from being reused between the look and the kill.
void kill_orphan(pid_t pid, std::uint64_t start_time, const Identity& dead, std::set<pid_t>& spared) {
  if (pid <= 0) return;
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process || !process_lives(pid, start_time)) return;
  if (!is_proven_worker_of(dead, pid)) {
    if (spared.insert(pid).second)
      log::warn("orphan_spared", {{"orphan_pid", pid},
                                  {"identity", dead.name},
                                  {"reason", "nothing proves that this supervisor started it"},
                                  {"hint", "while it lives, the jobs that it may run are not recovered"}});
    return;
  }
  log::warn("orphan_killed", {{"orphan_pid", pid}, {"reason", "it outlived its supervisor by a minute"}});
  syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

// A worker that a job has stopped, say with SIGSTOP, neither finishes nor sets its alarm, and a job's own process may
// have arranged to outlive its worker: without this, the job would be in flight forever.
void kill_orphans(const SlotSnapshot& left, const Identity& dead, std::set<pid_t>& spared) {
  kill_orphan(left.pid, left.start_time, dead, spared);
  kill_orphan(left.job_pid, left.job_start_time, dead, spared);
}

// "<host>:<pid>:<nonce>": the process with that pid may be the file's supervisor.
bool supervisor_may_live(const Scoreboard& board) {
  const std::string name = board.identity();
  const std::size_t nonce = name.rfind(':');
  const std::size_t pid = nonce == name.npos || nonce == 0 ? name.npos : name.rfind(':', nonce - 1);
  return pid == name.npos || pid_is_taken(leading_number<int>(std::string_view(name).substr(pid + 1)));
}

bool supervisor_may_live(const std::string& file) {
  try {
    return supervisor_may_live(Scoreboard::open(file, false));
  } catch (const std::exception&) {  // gone, or not a scoreboard
    return false;
  }
}

bool workers_live(const Scoreboard& board) {
  for (int i = 0; i < board.slots(); ++i) {
    const SlotSnapshot seen = snapshot(board.slot(i));
    if (seen.pid > 0 && process_lives(seen.pid, seen.start_time)) return true;
  }
  return false;
}

// Its record was lost and only its keys were found.  It may have run on this host or any other.
bool is_known_by_name_alone(const Identity& identity) { return identity.boot_id.empty(); }

// A supervisor whose record was lost may still be found by its keys.  This file then shows what its workers had done.
bool may_be_needed(const std::filesystem::path& file, const std::string& identity) {
  std::error_code gone;
  const auto written = std::filesystem::last_write_time(file, gone);
  if (gone || std::filesystem::file_time_type::clock::now() - written > forgotten_files_are_kept) return false;
  Identity dead;
  dead.name = identity;
  return !read_workers_left(file, dead).dead.empty();
}

}  // namespace

DeadSupervisors::DeadSupervisors(RecoveryChildren& recovery, ProcessPruning& pruning, DeadFiles& files, int shard,
                                 std::string own, std::string runtime_directory)
    : recovery_(recovery),
      pruning_(pruning),
      files_(files),
      shard_(shard),
      own_(std::move(own)),
      runtime_directory_(std::move(runtime_directory)) {}

void DeadSupervisors::handle(const DeadSupervisor& dead, SteadyTime now) {
  const std::string& name = dead.identity.name;
  const auto [entry, is_new] = progress_.try_emplace(name);
  Progress& progress = entry->second;
  progress.still_listed = true;
  progress.is_proven_dead = progress.is_proven_dead || dead.same_host;
  if (is_new) {
    progress.first_seen = now;
    if (dead.same_host || is_known_by_name_alone(dead.identity))
      progress.scoreboard = scoreboard_of(dead.identity, runtime_directory_);
    log::warn("supervisor_dead", {{"identity", name}, {"same_host", dead.same_host}});
  }
  if (progress.orphans_handed_over) return;

  if (!progress.scoreboard.empty()) {
    switch (hand_over_dead_workers(dead.identity, progress, now, dead.same_host)) {
      case Workers::alive:
        return;  // they finish, settle and leave by themselves
      case Workers::unknown:
        if (dead.same_host && now - progress.first_seen < workers_are_gone_after) return;
        break;
      case Workers::gone:
        break;
    }
  }
  // The workers in the scoreboard must be recovered first: after that, everything left counts as unknown.
  if (!recovery_.fields_of(name).empty()) return;
  progress.orphans_handed_over = true;
  recovery_.add(OrphanedJobs{name, {}, !dead.same_host}, [this, name] { close(name); });
}

void DeadSupervisors::handle_field(const std::string& field) {
  const auto parsed = parse_worker_field(field);
  if (!parsed) return;
  log::warn("orphan_incarnation", {{"field", field}});
  WorkerDeath orphan;
  orphan.worker = {own_, parsed->slot, parsed->incarnation, std::nullopt, false};
  orphan.cause_unknown = true;
  recovery_.add(std::move(orphan));
}

void DeadSupervisors::end_look(const std::set<std::string>& listed, SteadyTime now) {
  files_.note_look(shard_, listed);
  std::vector<std::string> settled;
  for (auto& [name, progress] : progress_) {
    const bool listed = std::exchange(progress.still_listed, false);
    if (!listed && !progress.orphans_handed_over && recovery_.fields_of(name).empty()) settled.push_back(name);
  }
  for (const std::string& name : settled) close(name);
  if (now >= next_look_at_forgotten_files_ && remove_forgotten_files())
    next_look_at_forgotten_files_ = now + between_looks_at_forgotten_files;
}

DeadSupervisors::Workers DeadSupervisors::hand_over_dead_workers(const Identity& dead, Progress& progress,
                                                                 SteadyTime now, bool is_proven_dead) {
  try {
    WorkersLeft left = read_workers_left(progress.scoreboard, dead, shard_);
    for (const SlotSnapshot& worker : left.living) {
      if (is_proven_dead && now - progress.first_seen >= workers_are_gone_after)
        kill_orphans(worker, dead, progress.spared);
    }
    for (WorkerDeath& worker_death : left.dead) {
      if (progress.handed_over.insert(worker_death.worker.incarnation).second) recovery_.add(std::move(worker_death));
    }
    return left.living.empty() ? Workers::gone : Workers::alive;
  } catch (const std::exception& error) {
    log::debug("no_scoreboard", {{"identity", dead.name}, {"reason", error.what()}});
    return Workers::unknown;
  }
}

void DeadSupervisors::close(const std::string& name) {
  const auto closed = progress_.find(name);
  if (closed == progress_.end()) return;
  const Progress& progress = closed->second;
  const bool same_host = !progress.scoreboard.empty();
  // A supervisor that sends heartbeats again needs its scoreboard and its control socket.
  if (same_host && (progress.is_proven_dead || !supervisor_may_live(progress.scoreboard)))
    files_.remove(shard_, name, progress.scoreboard);
  // A supervisor on another host may only have been cut off for a while and send heartbeats again.
  if (same_host || progress.orphans_handed_over) pruning_.unlist(name);
  progress_.erase(closed);
  log::info("supervisor_inherited", {{"identity", name}});
}

bool DeadSupervisors::remove_forgotten_files() {
  const auto listed = files_.named();
  if (!listed) return false;
  std::vector<std::string> next;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(runtime_directory_, ignored)) {
    if (entry.path().extension() == ".scoreboard" && entry.path().native() > last_file_looked_at_)
      next.push_back(entry.path());
  }
  const bool all_are_seen = next.size() <= most_files_in_a_look;
  const auto end = next.begin() + static_cast<std::ptrdiff_t>(std::min(next.size(), most_files_in_a_look));
  std::partial_sort(next.begin(), end, next.end());
  next.erase(end, next.end());
  for (const std::string& path : next) {
    try {
      const Scoreboard board = Scoreboard::open(path, false);
      if (progress_.contains(board.identity()) || supervisor_may_live(board)) continue;
      if (workers_live(board) || listed->contains(board.identity())) {
        some_files_stay_ = true;
        continue;
      }
      if (may_be_needed(path, board.identity())) continue;
      if (!remove_runtime_files(path)) {
        some_files_stay_ = true;
        continue;
      }
      pruning_.unlist(board.identity());
      log::info("forgotten_scoreboard_removed", {{"identity", board.identity()}});
    } catch (const std::exception&) {
      // No scoreboard, or one of another version: not ours to remove.
    }
  }
  last_file_looked_at_ = all_are_seen ? "" : next.back();
  return all_are_seen && !std::exchange(some_files_stay_, false);
}

}  // namespace brood
