#include "supervisor/worker_end.hpp"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>

namespace brood {

std::string ExitStatus::describe() const {
  return exited ? fmt::format("exited with {}", value) : "killed by " + signal_name(value);
}

std::string short_duration(std::chrono::nanoseconds d) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 7'200) return fmt::format("{}m", seconds / 60);
  return fmt::format("{}h", seconds / 3'600);
}

WorkerEnd judge_worker_end(const ExitStatus& status, const SlotSnapshot& last, int slot, std::uint64_t processed_before,
                           bool killed_by_brood, SteadyTime now) {
  WorkerEnd end;
  const bool in_a_job = std::any_of(last.entries.begin(), last.entries.end(), [](EntryState state) {
    return state == EntryState::running || state == EntryState::failed;
  });
  end.began_a_job = last.processed != processed_before || in_a_job;
  end.nothing_to_recover = last.retired;
  end.in_order = (status.exited && status.value == EX_OK && !in_a_job) || killed_by_brood;
  if (killed_by_brood || !in_a_job) return end;

  const std::string what = status.exited ? fmt::format("exit status {}", status.value) : signal_name(status.value);
  const std::string where = last.job_class.empty() ? "an unknown class" : last.job_class;
  end.cause = Casualty::Cause{
      status.exited ? "UnexpectedExit" : signal_name(status.value),
      fmt::format("{} in {}, worker {}, up {}", what, where, slot, short_duration(now - last.spawned_at))};
  return end;
}

}  // namespace brood
