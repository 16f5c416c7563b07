#include "supervisor/workers/ran_before.hpp"

#include <fmt/format.h>

#include <utility>

#include "shared/base/log.hpp"

namespace brood {

std::vector<CrashFacts::RanBefore> ran_before(const SlotRecord& record, const UsageTable& usage) {
  std::vector<CrashFacts::RanBefore> classes;
  for (const PrecedingRun& run : preceding_runs(record.recent_classes, record.processed.load())) {
    if (std::string name = class_at(usage, run.index); !name.empty()) classes.push_back({std::move(name), run.ago});
  }
  return classes;
}

std::string describe(const std::vector<CrashFacts::RanBefore>& classes) {
  std::string text;
  for (const CrashFacts::RanBefore& one : classes)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", one.job_class, one.runs_ago,
                        !text.empty()       ? ""
                        : one.runs_ago == 1 ? " run before"
                                            : " runs before");
  return text;
}

PrecedingClasses::Run RanBeforeWatch::run_of(int slot, const LastRun& last) const {
  const ProcessTable::Slot& taken = slots_.table[slot];
  PrecedingClasses::Run run{.job_class = last.index,
                            .before = {},
                            .capsule = taken.capsule,
                            .generation = taken.generation,
                            .slot = slot,
                            .number = last.run,
                            .oldest = last.oldest};
  for (const PrecedingRun& one : preceding_runs(slots_.board.slot(slot).recent_classes, last.run))
    run.before.push_back(one.index);
  return run;
}

void RanBeforeWatch::note_crash(int slot, SteadyTime now) {
  const SlotRecord& record = slots_.board.slot(slot);
  const auto last = last_run(record.recent_classes);
  if (last && last->run == record.processed.load()) classes_.note_crash(run_of(slot, *last), now);
}

void RanBeforeWatch::look(SteadyTime now) {
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    if (slots_.table[slot].pid == 0) continue;
    if (const auto last = last_run(slots_.board.slot(slot).recent_classes)) classes_.note_run(run_of(slot, *last), now);
  }
  for (const PrecedingClasses::Verdict& verdict : classes_.judge()) note(verdict);
}

void RanBeforeWatch::note(const PrecedingClasses::Verdict& verdict) {
  const UsageTable& usage = slots_.board.usage();
  NotedPrecedingClass& noted = slots_.board.usage().at(verdict.job_class).preceding;
  const auto before = noted.read();
  if (!verdict.suspicion) return noted.note(std::nullopt);
  const PrecedingClasses::Suspicion& found = *verdict.suspicion;
  noted.note(PrecedingClass{found.suspect, found.crashes, found.crashes_after, found.usual, found.certainty});
  if (before && before->index == found.suspect) return;
  log::warn("crashes_follow_a_class", {{"class", class_at(usage, verdict.job_class)},
                                       {"after", class_at(usage, found.suspect)},
                                       {"crashes", fmt::format("{} of {}", found.crashes_after, found.crashes)},
                                       {"other_runs", fmt::format("{:.1f}%", 100 * found.usual)},
                                       {"certainty", fmt::format("{:.4f}%", std::min(100 * found.certainty, 99.9999))},
                                       {"hint",
                                        "what it does to the memory of its worker may be what the others crash of: "
                                        "isolation = \"process\" for it tells"}});
}

}  // namespace brood
