#include "supervisor/inheritance.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "shared/log.hpp"
#include "shared/scoreboard.hpp"
#include "shared/unique_fd.hpp"
#include "supervisor/workers_left.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// Without its scoreboard a dead supervisor's workers have no names; by then their own alarm has ended them.
constexpr auto workers_are_gone_after = 60s;

// One that a job has stopped, with SIGSTOP say, neither finishes nor ever sees its alarm set: its job would be in
// flight for ever.  The descriptor keeps its pid from becoming another's between the look and the kill.
void kill_orphan(const SlotSnapshot& worker) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, worker.pid, 0)));
  if (!process || !process_lives(worker.pid, worker.start_time)) return;
  log::warn("orphan_killed", {{"worker_pid", worker.pid}, {"reason", "it outlived its supervisor by a minute"}});
  syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

// "<host>:<pid>:<nonce>": whoever has that pid now may be the file's supervisor.
bool is_in_use(const Scoreboard& board) {
  const std::string name = board.identity();
  const std::size_t nonce = name.rfind(':');
  const std::size_t pid = nonce == name.npos || nonce == 0 ? name.npos : name.rfind(':', nonce - 1);
  if (pid == name.npos || pid_is_taken(std::atoi(name.c_str() + pid + 1))) return true;
  for (int i = 0; i < board.slots(); ++i) {
    const SlotSnapshot seen = snapshot(board.slot(i));
    if (seen.pid > 0 && process_lives(seen.pid, seen.start_time)) return true;
  }
  return false;
}

}  // namespace

Inheritance::Inheritance(Recovery& recovery, std::string runtime_directory)
    : recovery_(recovery), runtime_directory_(std::move(runtime_directory)) {}

void Inheritance::heed(const DeadSupervisor& dead, SteadyTime now) {
  const std::string& name = dead.identity.name;
  const auto [entry, is_new] = progress_.try_emplace(name);
  Progress& progress = entry->second;
  progress.still_listed = true;
  if (is_new) {
    progress.first_seen = now;
    if (dead.same_host) progress.scoreboard = scoreboard_of(dead.identity, runtime_directory_);
    log::warn("supervisor_dead", {{"identity", name}, {"same_host", dead.same_host}});
  }
  if (progress.estate_handed_over) return;

  if (dead.same_host) {
    switch (hand_over_dead_workers(name, progress, now)) {
      case Workers::alive:
        return;  // they finish, settle and leave by themselves
      case Workers::unknown:
        if (now - progress.first_seen < workers_are_gone_after) return;
        break;
      case Workers::gone:
        break;
    }
  }
  // What its records name must be answered first: the estate takes all that is left as unknown.
  if (!recovery_.fields_of(name).empty()) return;
  progress.estate_handed_over = true;
  recovery_.add(Estate{name, {}}, [this, name] { close(name); });
}

void Inheritance::end_look() {
  std::vector<std::string> settled;
  for (auto& [name, progress] : progress_) {
    const bool listed = std::exchange(progress.still_listed, false);
    if (!listed && !progress.estate_handed_over && recovery_.fields_of(name).empty()) settled.push_back(name);
  }
  for (const std::string& name : settled) close(name);
  if (!std::exchange(looked_, true)) remove_forgotten_files();
}

Inheritance::Workers Inheritance::hand_over_dead_workers(const std::string& name, Progress& progress, SteadyTime now) {
  try {
    WorkersLeft left = read_workers_left(progress.scoreboard, name);
    for (const SlotSnapshot& worker : left.living) {
      if (now - progress.first_seen >= workers_are_gone_after) kill_orphan(worker);
    }
    for (Casualty& casualty : left.dead) {
      if (progress.handed_over.insert(casualty.worker.incarnation).second) recovery_.add(std::move(casualty));
    }
    return left.living.empty() ? Workers::gone : Workers::alive;
  } catch (const std::exception& error) {
    log::debug("no_scoreboard", {{"identity", name}, {"reason", error.what()}});
    return Workers::unknown;
  }
}

void Inheritance::close(const std::string& name) {
  const auto closed = progress_.find(name);
  if (closed == progress_.end()) return;
  if (!closed->second.scoreboard.empty()) remove_runtime_files(closed->second.scoreboard);
  progress_.erase(closed);
  log::info("supervisor_inherited", {{"identity", name}});
}

void Inheritance::remove_forgotten_files() const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(runtime_directory_, ignored)) {
    if (entry.path().extension() != ".scoreboard") continue;
    try {
      const Scoreboard board = Scoreboard::open(entry.path(), false);
      if (progress_.contains(board.identity()) || is_in_use(board)) continue;
      remove_runtime_files(entry.path());
      log::info("forgotten_scoreboard_removed", {{"identity", board.identity()}});
    } catch (const std::exception&) {
      // No scoreboard, or of another version: not ours to remove.
    }
  }
}

}  // namespace brood
