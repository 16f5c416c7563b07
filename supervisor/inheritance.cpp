#include "supervisor/inheritance.hpp"

#include <unistd.h>

#include "shared/log.hpp"
#include "shared/scoreboard.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// Without its scoreboard a dead supervisor's workers have no names; by then their own alarm has ended them.
constexpr auto workers_are_gone_after = 60s;

}  // namespace

Inheritance::Inheritance(Recovery& recovery, std::string runtime_directory)
    : recovery_(recovery), runtime_directory_(std::move(runtime_directory)) {}

void Inheritance::heed(const DeadSupervisor& dead, SteadyTime now) {
  const std::string& name = dead.identity.name;
  const auto [entry, is_new] = progress_.try_emplace(name);
  Progress& progress = entry->second;
  if (is_new) {
    progress.first_seen = now;
    log::warn("supervisor_dead", {{"identity", name}, {"same_host", dead.same_host}});
  }
  if (progress.estate_handed_over) return;

  Estate estate{name, {}};
  const std::string path = scoreboard_path(runtime_directory_, name);
  bool has_scoreboard = false;
  if (dead.same_host) {
    try {
      const Scoreboard board = Scoreboard::open(path, false);
      has_scoreboard = true;
      bool somebody_lives = false;
      for (int i = 0; i < board.slots(); ++i) {
        const SlotSnapshot seen = snapshot(board.slot(i));
        if (seen.pid > 0 && process_lives(seen.pid, seen.start_time)) {
          somebody_lives = true;
          continue;
        }
        if (seen.incarnation == 0 || seen.retired || !progress.handed_over.insert(seen.incarnation).second) continue;
        Casualty casualty;
        casualty.worker = {.identity = name,
                           .slot = i,
                           .incarnation = seen.incarnation,
                           .record = DeadWorker::Record{seen.number, seen.entries},
                           .ended_by_brood = false};
        casualty.cause_unknown = true;
        casualty.class_flags = seen.class_flags;
        recovery_.add(std::move(casualty));
      }
      if (somebody_lives) return;  // they finish, settle and leave by themselves
    } catch (const std::exception& error) {
      log::debug("no_scoreboard", {{"identity", name}, {"reason", error.what()}});
    }
    if (!has_scoreboard && now - progress.first_seen < workers_are_gone_after) return;
  }
  // What its records name must be answered first: the estate takes all that is left as unknown.
  if (!recovery_.fields_of(name).empty()) return;
  progress.estate_handed_over = true;
  recovery_.add(std::move(estate), [this, name, path, has_scoreboard] {
    if (has_scoreboard) unlink(path.c_str());
    progress_.erase(name);
    log::info("supervisor_inherited", {{"identity", name}});
  });
}

}  // namespace brood
