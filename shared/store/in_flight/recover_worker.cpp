#include "shared/store/in_flight/recover_worker.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/planted_bug.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/worker_field.hpp"

namespace brood {
namespace {

// The oldest entries of a dead worker's list, read when the first of them is asked for.
class OldestEntries {
 public:
  OldestEntries(Channel& redis, RedisKey list, std::size_t count)
      : redis_(redis), list_(std::move(list)), count_(count) {}

  // The entry `position` places from the oldest; nullopt when the list is shorter.
  std::optional<std::string> at(std::size_t position) {
    if (!read_) read();
    if (position >= newest_first_.size()) return std::nullopt;
    return newest_first_[newest_first_.size() - 1 - position];
  }

 private:
  void read() {
    read_ = true;
    const Reply reply = redis_.call({"LRANGE", list_, std::to_string(-static_cast<std::int64_t>(count_)), "-1"});
    if (!reply.view().is_array()) return;  // a tombstone, no list
    for (std::size_t i = 0; i < reply.view().size(); ++i) newest_first_.emplace_back(reply.view()[i].text());
  }

  Channel& redis_;
  RedisKey list_;
  std::size_t count_;
  bool read_ = false;
  std::vector<std::string> newest_first_;
};

std::string if_it_holds(const std::optional<std::string>& entry) {
  return entry && may_hold(*entry) ? *entry : std::string();
}

// The outcome that the worker noted for the entry; it applies however the worker ended.  If the note is damaged, the
// job goes back uncharged.
RecoveryAttempt::VerdictOnEntry as_judged(const DeadWorker& dead, std::size_t i, std::optional<std::string> entry) {
  const std::vector<std::optional<Outcome>>& outcomes = dead.record->outcomes;
  const bool known = i < outcomes.size() && outcomes[i];
  Outcome outcome = known ? *outcomes[i] : Outcome{.kind = Outcome::Kind::requeue_head, .payload = "", .score = 0};
  std::string holder = if_it_holds(entry);
  if (outcome.leaves_nothing()) entry.reset();
  return {std::move(entry), std::move(outcome), std::move(holder)};
}

// The outcome of a job that succeeded, with the result that the worker noted for it.
Outcome as_succeeded(const DeadWorker& dead, std::size_t i) {
  const std::vector<std::optional<Outcome>>& outcomes = dead.record->outcomes;
  return i < outcomes.size() && outcomes[i] ? *outcomes[i] : Outcome{};
}

bool may_be_charged(EntryState state) {
  if (planted(PlantedBug::unbegun_job_is_charged) && state == EntryState::fetched) return true;
  return state == EntryState::running || state == EntryState::failed || state == EntryState::being_killed;
}

// The scoreboard's verdicts on the oldest entries, up to the first that simply goes back.
std::vector<RecoveryAttempt::VerdictOnEntry> judge(Channel& redis, const DeadWorker& dead, const std::string& queue,
                                                   const ChargeJob& charge) {
  std::vector<RecoveryAttempt::VerdictOnEntry> verdicts;
  OldestEntries entries(redis, keys::in_flight_list(dead.identity, worker_field(dead.slot, dead.incarnation), queue),
                        dead.record->entries.size());
  for (std::size_t i = 0; i < dead.record->entries.size(); ++i) {
    const EntryState state = dead.record->entries[i];
    const bool guilty = may_be_charged(state);
    if (state == EntryState::succeeded ||
        (planted(PlantedBug::unbegun_job_is_forgotten) && state == EntryState::fetched)) {
      verdicts.push_back({std::nullopt, as_succeeded(dead, i), if_it_holds(entries.at(i))});
    } else if (state == EntryState::judged) {
      verdicts.push_back(as_judged(dead, i, entries.at(i)));
    } else if (guilty && !dead.ended_by_brood) {
      std::optional<std::string> entry = entries.at(i);
      if (!entry) break;
      Outcome outcome = charge(*entry, queue);
      std::string holder = if_it_holds(entry);
      verdicts.push_back({std::move(entry), std::move(outcome), std::move(holder)});
    } else {
      break;
    }
  }
  return verdicts;
}

// If the number is one higher, the worker could not read the answer to its last settle: then the entries are those of
// the batch before.
bool began_nothing(const DeadWorker::Record& record, const LastSettle& last) {
  const auto are_all = [&](auto holds) { return std::all_of(record.entries.begin(), record.entries.end(), holds); };
  if (record.number + 1 == last.number) return are_all([](EntryState state) { return !may_be_charged(state); });
  return record.number == last.number && are_all([](EntryState state) { return state == EntryState::fetched; });
}

// Charges the only job of the list, which was too large to be read.  With several jobs it is unknown which one was too
// large; the next worker fetches one at a time.
std::vector<RecoveryAttempt::VerdictOnEntry> judge_unbegun(Channel& redis, const DeadWorker& dead,
                                                           const std::string& queue, const ChargeJob& charge) {
  OldestEntries entries(redis, keys::in_flight_list(dead.identity, worker_field(dead.slot, dead.incarnation), queue),
                        2);
  std::optional<std::string> entry = entries.at(0);
  if (!entry || entries.at(1)) return {};
  Outcome outcome = charge(*entry, queue);
  std::string holder = if_it_holds(entry);
  return {{std::move(entry), std::move(outcome), std::move(holder)}};
}

// The jid of an entry; empty when it cannot be read.
std::string jid_of(const std::string& entry) {
  try {
    return std::string(Payload::parse(entry).jid());
  } catch (const BadPayload&) {
    return "";
  }
}

// Without the field no number identifies the list.  It is still the scoreboard's batch if the entry begun last lies
// where it should.
std::vector<LostSettlement::Performed> judge_without_field(Channel& redis, const DeadWorker& dead,
                                                           const ChargeJob& charge) {
  const std::vector<EntryState>& entries = dead.record->entries;
  std::size_t begun = 0;
  while (begun < entries.size() && entries[begun] != EntryState::fetched && entries[begun] != EntryState::taken_back)
    ++begun;
  OldestEntries oldest(
      redis, keys::in_flight_list(dead.identity, worker_field(dead.slot, dead.incarnation), dead.record->queue), begun);
  std::vector<LostSettlement::Performed> performed;
  if (begun == 0 || dead.record->jid.empty()) return performed;
  const std::optional<std::string> last = oldest.at(begun - 1);
  if (!last || jid_of(*last) != dead.record->jid) return performed;
  for (RecoveryAttempt::VerdictOnEntry& verdict : judge(redis, dead, dead.record->queue, charge)) {
    std::optional<std::string> entry = verdict.entry ? std::move(verdict.entry) : oldest.at(performed.size());
    if (!entry) break;
    performed.push_back({std::move(*entry), std::move(verdict.outcome)});
  }
  return performed;
}

// Sends the call that `call` makes.  Whenever it may have been refused for its size, has `shrink` make the outcomes
// smaller and sends it again.
template <typename Call, typename Shrink>
Reply send_in_size(Channel& redis, const std::string& field, OutcomeSize& size, Call call, Shrink shrink) {
  for (;;) {
    try {
      return redis.run(call());
    } catch (const ConnectionLost& refused) {
      if (refused.why == Loss::closed_on_large) continue;
      if (refused.why != Loss::too_large || size == OutcomeSize::as_it_is) throw;
      size = size == OutcomeSize::whole ? OutcomeSize::in_short : OutcomeSize::as_it_is;
      log::warn("outcome_too_large", {{"field", field}, {"reason", refused.what()}});
      shrink(size);
    }
  }
}

// The list holds what it held before, or a job that a BLMOVE has brought since; or nothing, if another recovery was
// first.
RecoveryResult recover_without_field(Channel& redis, const DeadWorker& dead, const IncarnationHoldings& held,
                                     const DeadLimits& limits, const ChargeJob& charge) {
  RecoveryResult result;
  const std::string field = worker_field(dead.slot, dead.incarnation);
  if (!dead.record->queue.empty()) {
    LostSettlement settlement{dead.identity, field, dead.record->queue, judge_without_field(redis, dead, charge),
                              limits,        held};
    const auto charged = std::find_if(settlement.performed.begin(), settlement.performed.end(),
                                      [](const auto& one) { return !one.outcome.leaves_nothing(); });
    const auto acknowledged = static_cast<int>(charged - settlement.performed.begin());
    OutcomeSize size = OutcomeSize::whole;
    const Reply reply = send_in_size(
        redis, field, size, [&] { return settle_without_field(settlement, redis_now()); },
        [&](OutcomeSize smaller) {
          std::vector<Outcome*> outcomes;
          for (LostSettlement::Performed& performed : settlement.performed) outcomes.push_back(&performed.outcome);
          resize(outcomes, smaller);
        });
    const SettledWithoutField settled = read_settled_without_field(reply.view());
    result.acknowledged = std::min(static_cast<int>(settled.settled), acknowledged);
    result.charged = static_cast<int>(settled.settled) - result.acknowledged;
    result.given_back = static_cast<int>(settled.given_back);
  }
  // A settle without an answer may have filled another list.
  result.given_back += give_back_lists_of(redis, dead.identity, field);
  result.somebody_was_first = result.acknowledged + result.charged + result.given_back == 0;
  return result;
}

}  // namespace

DeadWorker::Record record_of(const SlotSnapshot& last_words) {
  DeadWorker::Record record{last_words.number, last_words.entries, last_words.queue, last_words.jid, {}};
  for (std::size_t i = 0; i < last_words.outcome_notes.size(); ++i) {
    const std::optional<OutcomeNote>& note = last_words.outcome_notes[i];
    const bool succeeded = record.entries[i] == EntryState::succeeded;
    record.outcomes.push_back(!note ? std::nullopt : succeeded ? succeeded_with(*note) : noted_outcome(*note));
  }
  return record;
}

RecoveryResult recover(Channel& redis, const DeadWorker& dead, const DeadLimits& limits, const ChargeJob& charge,
                       const OrphanJob& orphan) {
  // Each answer that asks to send again stands for a late settle of the dead worker, and only a few can have been under
  // way.
  constexpr int attempts = 10;
  const std::string field = worker_field(dead.slot, dead.incarnation);
  const Reply values = redis.call(ask_incarnation(dead.identity, field));
  const ReplyView value = values.view()[0];
  const IncarnationHoldings held = read_holdings(values.view()[1]);
  if (value.is_nil())
    return dead.record && !dead.served_elsewhere ? recover_without_field(redis, dead, held, limits, charge)
                                                 : RecoveryResult{.somebody_was_first = true};

  const LastSettle last = parse_last_settle(value.text()).value_or(LastSettle{});
  RecoveryAttempt attempt{.queue = last.queue, .verdicts = {}, .orphans = {}, .held = held};
  if (dead.record && dead.record->number == last.number) attempt.verdicts = judge(redis, dead, last.queue, charge);
  DeadWorker judged = dead;
  if (dead.ran_out_of_memory && dead.record && began_nothing(*dead.record, last)) {
    attempt.verdicts = judge_unbegun(redis, dead, last.queue, charge);
    judged.record->number = last.number;
  }
  OutcomeSize size = OutcomeSize::whole;
  for (int i = 0; i < attempts; ++i) {
    const Reply reply = send_in_size(
        redis, field, size, [&] { return recovery_call(judged, attempt, limits, redis_now()); },
        [&](OutcomeSize smaller) {
          std::vector<Outcome*> outcomes;
          for (auto* verdicts : {&attempt.verdicts, &attempt.orphans}) {
            for (RecoveryAttempt::VerdictOnEntry& verdict : *verdicts) outcomes.push_back(&verdict.outcome);
          }
          resize(outcomes, smaller);
        });
    const RecoveryAnswer answer = read_recovery(reply.view());
    switch (answer.kind) {
      case RecoveryAnswer::Kind::done:
        return answer.result;
      case RecoveryAnswer::Kind::other_queue:
        // Only a settle changes the queue, so the number has changed too, and the verdicts are about another list.
        attempt = {.queue = answer.queue, .verdicts = {}, .orphans = {}, .held = attempt.held};
        break;
      case RecoveryAnswer::Kind::holds:
        attempt.held = IncarnationHoldings(answer.note);
        break;
      case RecoveryAnswer::Kind::orphans:
        for (const std::string& payload : answer.payloads) {
          attempt.orphans.push_back({payload, resized(orphan(payload, attempt.queue), size), if_it_holds(payload)});
        }
        break;
    }
  }
  throw UnexpectedReply("the in-flight list of " + dead.identity + " " + field +
                        " changes faster than it can be recovered");
}

}  // namespace brood
