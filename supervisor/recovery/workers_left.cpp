#include "supervisor/recovery/workers_left.hpp"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "shared/base/job_mark.hpp"
#include "shared/base/log.hpp"
#include "shared/errors/error_spool.hpp"
#include "supervisor/report/beat_tokens.hpp"

namespace brood {
namespace {

bool may_live_on(const Identity& dead, pid_t pid, std::uint64_t start_time) {
  if (pid <= 0 || !process_lives(pid, start_time)) return false;
  const auto limit = file_locks_of(pid);
  return !limit || !disproves_descent(*limit, dead.pid, dead.start_time);
}

}  // namespace

std::string scoreboard_of(const Identity& dead, const std::string& runtime_directory) {
  const std::string ours = scoreboard_path(runtime_directory, dead.name);
  if (dead.runtime_directory.empty() || access(ours.c_str(), F_OK) == 0) return ours;
  return scoreboard_path(dead.runtime_directory, dead.name);
}

bool has_left_files(const Identity& dead, const std::string& beat_token, const std::string& runtime_directory) try {
  const Scoreboard board = Scoreboard::open(scoreboard_of(dead, runtime_directory), false);
  return board.identity() == dead.name && may_be_its_beat(beat_token, board.beat_tokens());
} catch (const std::exception&) {
  return false;
}

bool is_proven_worker_of(const Identity& dead, pid_t pid) {
  const auto limit = file_locks_of(pid);
  return limit && proves_descent(*limit, dead.pid, dead.start_time);
}

WorkersLeft read_workers_left(const std::string& scoreboard, const Identity& dead, std::optional<int> shard) {
  const Scoreboard board = Scoreboard::open(scoreboard, false);
  if (board.identity() != dead.name) throw std::runtime_error(scoreboard + " is not of " + dead.name);
  WorkersLeft left;
  for (int i = 0; i < board.slots(); ++i) {
    SlotSnapshot seen = snapshot(board.slot(i));
    // A job with a process of its own may briefly outlive its worker.
    if (may_live_on(dead, seen.pid, seen.start_time) || may_live_on(dead, seen.job_pid, seen.job_start_time)) {
      left.living.push_back(std::move(seen));
      continue;
    }
    if (seen.incarnation == 0 || seen.retired) continue;
    WorkerDeath worker_death;
    worker_death.worker = {.identity = dead.name,
                           .slot = i,
                           .incarnation = seen.incarnation,
                           .record = record_of(last_words(board.slot(i))),
                           .ended_by_brood = false,
                           .served_elsewhere = shard && seen.shard != *shard};
    worker_death.cause_unknown = true;
    worker_death.class_flags = seen.class_flags;
    left.dead.push_back(std::move(worker_death));
  }
  return left;
}

bool remove_runtime_files(const std::string& scoreboard) {
  const RemovedSpool removed = remove_error_spool(std::filesystem::path(scoreboard).replace_extension(".errors"));
  if (removed.reports > 0)
    log::warn("error_reports_lost", {{"reports", removed.reports}, {"reason", "their supervisor was killed"}});
  if (removed.goes_on) return false;
  unlink(scoreboard.c_str());
  unlink(std::filesystem::path(scoreboard).replace_extension(".control").c_str());
  unlink(std::filesystem::path(scoreboard).replace_extension(".periodic").c_str());
  unlink(std::filesystem::path(scoreboard).replace_extension(".classes").c_str());
  unlink(std::filesystem::path(scoreboard).replace_extension(".spans").c_str());
  return true;
}

}  // namespace brood
