#include "tests/walk/batch_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace brood::walk {
namespace {

// The ledger's record of a job of a batch, or of a callback.
struct Traces {
  const WalkJob* job = nullptr;
  bool is_confirmed = false;  // the push with this job has returned
  bool is_dead = false;       // it is in `dead`
  std::vector<const WalkRun*> runs{};
  std::map<char, std::int64_t> first{};  // when each kind of line was first written

  bool has(char what) const { return first.contains(what); }
  bool was_there() const { return is_dead || !runs.empty() || has('X') || has('Z') || job->deleted > 0; }
};

struct LedgerBatch {
  std::string bid, parent;
  std::int64_t made = 0, filled = 0;  // filled: the function that fills it returned; 0: it did not
  std::vector<std::string> returns{};
  std::vector<std::string> jids{};
  std::map<std::string, std::vector<std::string>> callbacks{};  // by event
  const FoundBatch* found = nullptr;

  bool has_returned(const std::string& how) const {
    return std::find(returns.begin(), returns.end(), how) != returns.end();
  }
  bool is_cancelled() const { return found != nullptr && found->record.cancelled_at.has_value(); }
};

// The ways in which a job may have been counted.
struct Ends {
  bool well = false, dead = false;
};

class Judge {
 public:
  Judge(const JobBook& book, const std::vector<FoundBatch>& found, const std::vector<Whereabouts>& left,
        const std::set<std::string>& cancelled)
      : cancelled_(cancelled), runs_(book.runs()) {
    for (const auto& [jid, job] : book.jobs()) traces_[jid].job = &job;
    for (const LedgerLine& line : book.lines()) take(line);
    for (const WalkRun& run : runs_) {
      if (const auto known = traces_.find(run.jid); known != traces_.end()) known->second.runs.push_back(&run);
    }
    for (const Whereabouts& place : left) {
      const auto known = traces_.find(jid_in(place.payload));
      if (known != traces_.end() && place.key == "dead") known->second.is_dead = true;
    }
    for (const FoundBatch& one : found) {
      const auto known = batches_.find(one.record.bid);
      if (known == batches_.end())
        find("", "the walk did not make the batch " + one.record.bid);
      else
        known->second.found = &one;
    }
  }

  std::vector<Finding> judge() {
    for (const auto& entry : batches_) judge(entry.second);
    for (const WalkRun& run : runs_) {
      const auto known = traces_.find(run.jid);
      if (known == traces_.end()) continue;
      if (run.bid != known->second.job->bid) find(run.jid, "it ran in the batch \"" + run.bid + "\"");
      judge_order(run, known->second);
    }
    return std::move(findings_);
  }

 private:
  void find(const std::string& jid, std::string what) { findings_.push_back({jid, std::move(what)}); }

  void take(const LedgerLine& line) {
    const auto known = traces_.find(line.id);
    if (known != traces_.end()) known->second.first.emplace(line.what, line.time);
    switch (line.what) {
      case 'M':
        batches_[line.id] = {.bid = line.id, .parent = line.first == "-" ? "" : line.first, .made = line.time};
        break;
      case 'K':
        batches_[line.first].callbacks[line.second].push_back(line.id);
        break;
      case 'N':
        batches_[line.first].jids.push_back(line.id);
        announced_[{line.first, line.pid}].push_back(line.id);
        break;
      case 'V':
        batches_[line.id].filled = line.time;
        break;
      case 'R':
        batches_[line.id].returns.push_back(line.first);
        for (const std::string& jid : announced_[{line.id, line.pid}]) traces_[jid].is_confirmed = line.first == "ok";
        announced_.erase({line.id, line.pid});
        break;
      default:
        break;
    }
  }

  Ends ends_of(const Traces& of, const LedgerBatch& batch) const {
    const WalkJob& job = *of.job;
    const bool ran_well = of.has('D') || of.has('C') || of.has('X');
    const bool was_discarded = std::any_of(job.kills.begin(), job.kills.end(),
                                           [](const WalkJob::Kill& kill) { return kill.outcome == "discard"; });
    if (of.is_dead) return {.dead = true};
    if (was_discarded || !job.lock.empty()) return {.well = true, .dead = true};
    if (job.deleted > 0) return {.well = ran_well, .dead = true};
    if (job.was_touched) return {.well = true, .dead = true};
    if (ran_well) return {.well = true};
    if (job.stores_nothing && (of.has('Z') || !of.runs.empty())) return {.well = batch.is_cancelled(), .dead = true};
    if (batch.is_cancelled()) return {.well = true};
    if (job.if_failed == "skip" && !job.after.empty() && of.runs.empty()) return {.well = true};
    return {};
  }

  void judge(const LedgerBatch& batch) {
    const auto find_in = [&](const std::string& what) { find(batch.bid, "the batch " + what); };
    if (batch.found == nullptr) {
      if (batch.has_returned("ok")) find_in("is gone");
      for (const std::string& jid : batch.jids) {
        if (traces_[jid].was_there()) find(jid, "it is a job of a batch that is not there");
      }
      return;
    }
    const BatchRecord& record = batch.found->record;
    if (record.pending != 0 || record.failing != 0)
      find_in(fmt::format("waits for {} jobs, of which {} have failed", record.pending, record.failing));
    if (record.open != 0) find_in("is open");
    if (record.parent != batch.parent) find_in("has the parent " + record.parent);
    if (record.cancelled_at) {
      bool has_cause = batch.returns.empty() || batch.has_returned("thrown") || batch.has_returned("failed");
      for (const LedgerBatch* above = &batch; above != nullptr; above = parent_of(*above))
        has_cause |= cancelled_.contains(above->bid);
      if (!has_cause) find_in("was cancelled, and none has asked for it");
    } else {
      if (batch.has_returned("thrown")) find_in("was not cancelled, although the function that fills it has thrown");
      // Redis may refuse the first push before its function runs, and take a later one.
      if (batch.filled == 0 && !batch.has_returned("ok"))
        find_in("was not cancelled, although the function that fills it has not returned");
    }
    judge_counts(batch);
    for (const auto& [event, jids] : batch.callbacks) judge_callbacks(batch, event, jids);
  }

  void judge_counts(const LedgerBatch& batch) {
    const BatchRecord& record = batch.found->record;
    std::int64_t least = 0, most = 0, least_well = 0, most_well = 0, least_dead = 0, most_dead = 0;
    std::map<int, std::string> at;
    for (const std::string& jid : batch.jids) {
      const Traces& of = traces_[jid];
      // An unanswered push, or a unique job, may not have been accepted.
      const bool is_certain = of.was_there() || (of.is_confirmed && of.job->lock.empty());
      const Ends ends = ends_of(of, batch);
      if (!ends.well && !ends.dead) {
        if (is_certain) find(jid, "it is lost, and its batch is " + batch.bid);
        continue;
      }
      least += is_certain;
      ++most;
      least_well += is_certain && !ends.dead;
      most_well += ends.well;
      least_dead += is_certain && !ends.well;
      most_dead += ends.dead;
      for (const WalkRun* run : of.runs) {
        if (run->index < 0) continue;
        const auto [other, is_new] = at.emplace(run->index, jid);
        if (!is_new && other->second != jid) find(jid, "it has the same place in its batch as " + other->second);
        const char* const states[] = {"pending", "failing", "dead", "succeeded"};
        const unsigned state = state_at(batch.found->states, run->index);
        if ((state == 3 && ends.well) || (state == 2 && ends.dead)) continue;
        find(jid, fmt::format("its batch {} has it as {}", batch.bid, states[state]));
        break;
      }
    }
    const auto check = [&](const char* what, std::int64_t count, std::int64_t lowest, std::int64_t highest) {
      if (count < lowest || count > highest)
        find(batch.bid,
             fmt::format("the batch counts {} jobs {}, and the ledger {} to {}", count, what, lowest, highest));
    };
    check("in all", record.total, least, most);
    check("that succeeded", record.succeeded, least_well, most_well);
    check("that are dead", record.dead, least_dead, most_dead);
  }

  static unsigned state_at(const std::string& states, int index) {
    const auto byte = static_cast<std::size_t>(index / 4);
    return byte < states.size() ? static_cast<unsigned char>(states[byte]) >> (6 - 2 * (index % 4)) & 3U : 0;
  }

  void judge_callbacks(const LedgerBatch& batch, const std::string& event, const std::vector<std::string>& jids) {
    const BatchRecord& record = batch.found->record;
    const auto fired = record.fired.find(event);
    const bool is_cancelled = record.cancelled_at.has_value();
    const bool must =
        event == "finished" || (!is_cancelled && (event == "complete" || (event == "death" && record.dead > 0)));
    const bool may = event != "success" || record.dead == 0;
    for (const std::string& jid : jids) {
      const Traces& of = traces_[jid];
      const bool ended =
          of.has('D') || of.is_dead || of.job->deleted > 0 || of.job->was_touched || !of.job->kills.empty();
      const std::string name = fmt::format("the callback of {} of batch {}", event, batch.bid);
      if ((must || fired != record.fired.end()) && !ended) find(jid, name + " has not run");
      if (!of.was_there()) continue;
      if (!may || fired == record.fired.end()) find(jid, name + " was pushed, and is not due");
      if (of.runs.empty()) continue;
      const std::int64_t began = of.runs.front()->began;
      if (began < batch.filled) find(jid, name + " began before the push had returned");
      if (is_cancelled && event != "finished" && fired != record.fired.end() &&
          fired->second > to_epoch(*record.cancelled_at))
        find(jid, name + " was pushed after it had been cancelled");
      if (event != "complete" && event != "death") judge_children(batch, event, jid, began);
    }
  }

  // When the callback of a batch began, those of its children must have run.
  void judge_children(const LedgerBatch& batch, const std::string& event, const std::string& jid, std::int64_t began) {
    for (const auto& entry : batches_) {
      const LedgerBatch& child = entry.second;
      if (child.parent != batch.bid || child.found == nullptr) continue;
      const auto callbacks = child.callbacks.find(event);
      if (callbacks == child.callbacks.end()) continue;
      for (const std::string& of_child : callbacks->second) {
        const Traces& of = traces_[of_child];
        if (of.has('D') && of.first.at('D') > began && !of.job->was_touched && of.job->kills.empty())
          find(jid, fmt::format("it began before {} of the child {} had run", of_child, child.bid));
      }
    }
  }

  // A step of a flow must begin after the steps that it waits for have ended.
  void judge_order(const WalkRun& run, const Traces& of) {
    for (const std::string& jid : of.job->after) {
      const Traces& before = traces_[jid];
      if (of.job->was_touched || before.job->was_touched || !before.job->kills.empty()) continue;
      if (before.has('D') && before.first.at('D') > run.began) find(run.jid, "it began before " + jid + " was done");
      const bool has_ended = before.has('D') || before.has('X') || before.has('C') || before.has('Z') ||
                             before.is_dead || before.job->deleted > 0 || before.job->if_failed == "skip" ||
                             (before.job->stores_nothing && !before.runs.empty());
      if (!has_ended) find(run.jid, "it began although " + jid + " has not ended");
      if (before.is_dead && of.job->if_failed != "run") find(run.jid, "it began although " + jid + " is dead");
    }
  }

  const LedgerBatch* parent_of(const LedgerBatch& batch) const {
    const auto found = batches_.find(batch.parent);
    return found == batches_.end() ? nullptr : &found->second;
  }

  static std::int64_t to_epoch(WallTime time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  }

  const std::set<std::string>& cancelled_;
  const std::vector<WalkRun> runs_;
  std::map<std::string, Traces> traces_;
  std::map<std::string, LedgerBatch> batches_;
  std::map<std::pair<std::string, pid_t>, std::vector<std::string>> announced_;  // by unreturned pushes
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> judge_batches(const JobBook& book, const std::vector<FoundBatch>& found,
                                   const std::vector<Whereabouts>& left, const std::set<std::string>& cancelled) {
  return Judge(book, found, left, cancelled).judge();
}

}  // namespace brood::walk
