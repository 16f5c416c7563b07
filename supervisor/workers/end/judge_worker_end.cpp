#include "supervisor/workers/end/judge_worker_end.hpp"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "shared/base/signal_names.hpp"
#include "shared/scoreboard/left_threads.hpp"

namespace brood {
namespace {

bool ran(EntryState state) {
  return state == EntryState::running || state == EntryState::failed || state == EntryState::being_killed;
}

bool ran_a_job(const SlotSnapshot& last) { return std::any_of(last.entries.begin(), last.entries.end(), ran); }

bool cut_a_job_short(const SlotSnapshot& last) {
  return std::any_of(last.entries.begin(), last.entries.end(), [](EntryState state) {
    return state == EntryState::running || state == EntryState::being_killed;
  });
}

// The signal that the worker's own handler received.  The final SIGKILL may only have come because unwinding hung in
// that handler.
int first_signal(const WorkerExit& exit) {
  const bool handler_was_ended = !exit.status.exited && exit.status.value == SIGKILL && exit.stack.signal != 0;
  return handler_was_ended ? exit.stack.signal : exit.status.value;
}

std::string seconds_text(std::chrono::nanoseconds d) {
  return fmt::format("{:.1f}s", std::chrono::duration<double>(d).count());
}

std::string describe_timeout(const WorkerExit& exit) {
  const SlotSnapshot& last = exit.last;
  std::string text = "ran for " + seconds_text(exit.now - last.started_steady);
  if (last.deadline) text += ", longer than its timeout of " + seconds_text(*last.deadline - last.started_steady) + ",";
  return text;
}

std::string describe_memory(const WorkerExit& exit) {
  if (exit.memory == MemoryVerdict::own_limit && exit.memory_limit_bytes == 0)
    return "out of memory: an uncaught std::bad_alloc";
  if (exit.memory == MemoryVerdict::own_limit)
    return fmt::format("out of memory: over the memory_limit of {} MB", exit.memory_limit_bytes >> 20);
  return "out of memory: the kernel ended it when the host had none left, and it had more than its share";
}

// The message says what happened; the place is added later.
WorkerDeath::Cause charge_for(const WorkerExit& exit) {
  switch (exit.by) {
    case EndedBy::timeout:
      return {"JobTimeout", describe_timeout(exit), false};
    case EndedBy::by_hand:
      return {"JobKilled", "killed by hand after " + seconds_text(exit.now - exit.last.started_steady), false};
    case EndedBy::protocol:
      return {"ControlPipeError", "wrote into its worker's control pipe"};
    case EndedBy::itself:
    case EndedBy::brood:
      break;
  }
  if (exit.memory == MemoryVerdict::own_limit || exit.memory == MemoryVerdict::host_pressure_guilty)
    return {"OutOfMemory", describe_memory(exit)};
  if (exit.status.exited) return {"UnexpectedExit", fmt::format("exit status {}", exit.status.value)};
  const int signal = first_signal(exit);
  return {signal_name(signal), exit.stack.signal == signal ? describe_signal(exit.stack) : signal_name(signal)};
}

}  // namespace

std::string short_duration(std::chrono::nanoseconds d) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 7'200) return fmt::format("{}m", seconds / 60);
  return fmt::format("{}h", seconds / 3'600);
}

bool ended_in_a_handler(const SlotSnapshot& last) { return last.jid.empty() && last.job_class.starts_with("Event::"); }

std::string loading_when_it_ended(const SlotSnapshot& last) {
  const bool loaded = last.jid.empty() && last.job_class.starts_with(loading_prefix);
  return loaded ? last.job_class.substr(loading_prefix.size()) : "";
}

bool ended_with_worker(const SlotSnapshot& last, int entry) {
  return entry >= 0 && static_cast<std::size_t>(entry) < last.entries.size() &&
         ran(last.entries[static_cast<std::size_t>(entry)]);
}

void blame_who_left_threads(WorkerExit& exit) {
  SlotSnapshot& last = exit.last;
  const bool by_itself = exit.by == EndedBy::itself && !exit.status.exited;
  if (!by_itself || !(last.class_flags & job_left_threads) || ran_a_job(last)) return;
  const auto begun = std::find_if(last.entries.rbegin(), last.entries.rend(), [](EntryState state) {
    return state != EntryState::fetched && state != EntryState::taken_back;
  });
  if (begun == last.entries.rend() || (*begun != EntryState::succeeded && *begun != EntryState::judged)) return;
  *begun = EntryState::running;
  last.current = static_cast<int>(std::distance(begun, last.entries.rend())) - 1;
}

WorkerEnd judge_worker_end(const WorkerExit& exit) {
  WorkerEnd end;
  const bool in_a_job = ran_a_job(exit.last);
  const bool ended_by_brood = exit.by == EndedBy::brood;
  end.began_a_job = exit.last.processed != exit.processed_before || in_a_job;
  end.did_a_job = exit.last.processed - exit.processed_before > (in_a_job ? 1U : 0U);  // counted when it begins
  end.cut_short = cut_a_job_short(exit.last);
  end.nothing_to_recover = exit.last.retired;
  end.in_order = (exit.status.exited && exit.status.value == EX_OK && !in_a_job) || ended_by_brood;
  const std::string worker =
      fmt::format("worker {}, up {}", exit.slot, short_duration(exit.now - exit.last.spawned_at));
  const bool others_code_ran = ended_in_a_handler(exit.last) || (exit.last.class_flags & job_left_threads) != 0;
  if (exit.by == EndedBy::itself && !in_a_job && !others_code_ran && exit.memory == MemoryVerdict::own_limit)
    end.cause_before_begin = {"OutOfMemory", describe_memory(exit) + " before the job began, " + worker};
  if (ended_by_brood || !in_a_job || exit.memory == MemoryVerdict::host_pressure_innocent) return end;

  end.cause = charge_for(exit);
  const std::string where = exit.last.job_class.empty() ? "an unknown class" : exit.last.job_class;
  end.cause->message += fmt::format(" in {}, {}", where, worker);
  return end;
}

}  // namespace brood
