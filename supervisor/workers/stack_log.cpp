#include "supervisor/workers/stack_log.hpp"

#include <chrono>
#include <csignal>
#include <system_error>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/scoreboard/dump_request.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_run = 10s;

}  // namespace

void StackLog::write() {
  const std::vector<DumpRequest> asked = orders_.ask_for_stacks();
  if (asked.empty() || child_.is_running()) return;
  try {
    child_ = children_.spawn(
        {.title = "brood: dump", .keep = {}, .parent_death_signal = SIGKILL, .oom_score_adjustment = 100},
        Children::Deadline{steady_now() + longest_run}, [&] { return bodies_.log_stacks(asked); }, nullptr);
  } catch (const std::system_error& error) {
    log::warn("stacks_not_logged", {{"reason", error.what()}});
  }
}

}  // namespace brood
