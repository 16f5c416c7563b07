#include "supervisor/workers/stack_log.hpp"

#include <unistd.h>

#include <csignal>
#include <system_error>

#include "shared/base/log.hpp"
#include "supervisor/process/spawn.hpp"

namespace brood {
namespace {

constexpr unsigned longest_run_s = 10;

}  // namespace

void StackLog::write(const std::vector<DumpRequest>& asked) {
  if (asked.empty() || pid_ != 0) return;
  try {
    pid_ =
        spawn({.title = "brood: dump", .keep = {}, .parent_death_signal = SIGKILL, .oom_score_adjustment = 100}, [&] {
          alarm(longest_run_s);
          return bodies_.log_stacks(asked);
        });
  } catch (const std::system_error& error) {
    log::warn("stacks_not_logged", {{"reason", error.what()}});
  }
}

bool StackLog::reaped(pid_t pid) {
  if (!is_child(pid)) return false;
  pid_ = 0;
  return true;
}

}  // namespace brood
