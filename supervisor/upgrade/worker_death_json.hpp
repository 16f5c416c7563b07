#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/upgrade/handover_json.hpp"

// The facts about a dead worker, as in a handover.  Each member is named once, for writing and reading.
namespace brood::handover_json {

template <typename Io>
void members(Io& io, Of<Io, Outcome>& outcome) {
  enumerator(io, "kind", outcome.kind, static_cast<int>(Outcome::Kind::beside) + 1);
  io.bytes("payload", outcome.payload);
  std::int64_t microseconds = std::llround(outcome.score * 1e6);
  io.number("score_us", microseconds);
  if constexpr (!std::is_same_v<Io, Writer>) outcome.score = static_cast<double>(microseconds) / 1e6;
}

// An entry of a dead worker's batch.
struct LeftEntry {
  EntryState state = EntryState::none;
  std::optional<Outcome> outcome;
};

template <typename Io>
void members(Io& io, Of<Io, LeftEntry>& entry) {
  enumerator(io, "state", entry.state, static_cast<int>(EntryState::judged) + 1);
  io.record("outcome", entry.outcome);
}

template <typename Io>
void members(Io& io, Of<Io, DeadWorker::Record>& record) {
  io.number("number", record.number);
  io.bytes("queue", record.queue);
  io.bytes("jid", record.jid);
  std::vector<LeftEntry> entries;
  for (std::size_t i = 0; i < record.entries.size(); ++i)
    entries.push_back({record.entries[i], i < record.outcomes.size() ? record.outcomes[i] : std::nullopt});
  io.records("entries", entries);
  if constexpr (!std::is_same_v<Io, Writer>) {
    for (LeftEntry& entry : entries) {
      record.entries.push_back(entry.state);
      record.outcomes.push_back(std::move(entry.outcome));
    }
  }
}

template <typename Io>
void members(Io& io, Of<Io, CapturedStack::Module>& module) {
  io.bits("begin", module.begin);
  io.bits("end", module.end);
  io.bits("bias", module.bias);
  io.bytes("build_id", module.build_id);
  io.bytes("path", module.path);
}

template <typename Io>
void members(Io& io, Of<Io, CapturedStack>& stack) {
  enumerator(io, "state", stack.state, static_cast<int>(StackState::complete) + 1);
  io.number("signal", stack.signal);
  io.number("code", stack.code);
  io.number("exit_status", stack.exit_status);
  io.number("thread", stack.thread);
  io.bits("address", stack.address);
  io.bits("pc", stack.pc);
  io.bits("sp", stack.sp);
  io.bits("data_bytes", stack.data_bytes);
  io.bytes("thrown_type", stack.thrown_type);
  io.bytes("what", stack.what);
  io.numbers("frames", stack.frames);
  io.records("modules", stack.modules);
}

template <typename Io>
void members(Io& io, Of<Io, CrashFacts::RanBefore>& before) {
  io.bytes("class", before.job_class);
  io.number("runs_ago", before.runs_ago);
}

template <typename Io>
void members(Io& io, Of<Io, CrashFacts>& facts) {
  io.number("pid", facts.pid);
  io.number("slot", facts.slot);
  io.number("signal", facts.signal);
  io.number("exit_status", facts.exit_status);
  io.truth("core_dumped", facts.core_dumped);
  io.bytes("working_directory", facts.working_directory);
  io.duration("uptime_ns", facts.uptime);
  io.duration("user_us", facts.user_time);
  io.duration("system_us", facts.system_time);
  io.number("max_rss_kb", facts.max_rss_kb);
  io.record("stack", facts.stack);
  io.records("ran_before", facts.ran_before);
  io.bits("libraries", facts.libraries);
}

template <typename Io>
void members(Io& io, Of<Io, WorkerDeath::Cause>& cause) {
  io.bytes("error_class", cause.error_class);
  io.bytes("message", cause.message);
  io.truth("counts_as_crash", cause.counts_as_crash);
  io.record("facts", cause.facts);
}

template <typename Io>
void members(Io& io, Of<Io, WorkerDeath::Run>& run) {
  io.time("began", run.began);
  io.duration("took_ns", run.took);
}

template <typename Io>
void members(Io& io, Of<Io, WorkerDeath>& death) {
  constexpr int nobody_chose = -1;  // no outcome was chosen for the job
  constexpr int as_configured = -1;
  io.bytes("identity", death.worker.identity);
  io.number("slot", death.worker.slot);
  io.number("incarnation", death.worker.incarnation);
  io.record("record", death.worker.record);
  io.truth("ended_by_brood", death.worker.ended_by_brood);
  io.truth("served_elsewhere", death.worker.served_elsewhere);
  io.truth("ran_out_of_memory", death.worker.ran_out_of_memory);
  io.record("cause", death.cause);
  io.record("run", death.run);
  int fate = death.fate ? static_cast<int>(*death.fate) : nobody_chose;
  io.number("fate", fate);
  io.truth("cause_unknown", death.cause_unknown);
  io.number("class_flags", death.class_flags);
  io.bytes("jid", death.jid);
  int max_crashes = death.max_crashes.value_or(as_configured);
  io.number("max_crashes", max_crashes);
  if constexpr (!std::is_same_v<Io, Writer>) {
    if (fate >= 0 && fate <= static_cast<int>(WorkerDeath::Fate::discard))
      death.fate = static_cast<WorkerDeath::Fate>(fate);
    if (max_crashes != as_configured) death.max_crashes = max_crashes;
  }
}

}  // namespace brood::handover_json
