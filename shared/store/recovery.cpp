#include "shared/store/recovery.hpp"

#include "shared/store/keys.hpp"

namespace brood {
namespace {

// The entry `position` places from the oldest; nullopt when the list is shorter.
std::optional<std::string> read_entry(Channel& redis, const std::string& list, std::size_t position) {
  const Reply reply = redis.call({"LINDEX", list, std::to_string(-1 - static_cast<std::int64_t>(position))});
  if (reply.view().is_nil() || !reply.view().error().empty()) return std::nullopt;  // an error: a tombstone, no list
  return std::string(reply.view().text());
}

// What the scoreboard says about the oldest entries, up to the first that simply goes back.
std::vector<RecoveryAttempt::VerdictOnEntry> judge(Channel& redis, const DeadWorker& dead, const std::string& queue,
                                                   const ChargeJob& charge) {
  std::vector<RecoveryAttempt::VerdictOnEntry> verdicts;
  const std::string list = keys::in_flight_list(dead.identity, keys::worker_field(dead.slot, dead.incarnation), queue);
  for (const EntryState state : dead.record->entries) {
    const bool guilty = state == EntryState::running || state == EntryState::failed || state == EntryState::condemned;
    if (state == EntryState::succeeded) {
      verdicts.push_back({std::nullopt, Outcome{}});
    } else if (guilty && !dead.ended_by_brood) {
      std::optional<std::string> entry = read_entry(redis, list, verdicts.size());
      if (!entry) break;
      Outcome outcome = charge(*entry, queue);
      verdicts.push_back({std::move(entry), std::move(outcome)});
    } else {
      break;
    }
  }
  return verdicts;
}

}  // namespace

RecoveryResult recover(Channel& redis, const DeadWorker& dead, const DeadLimits& limits, const ChargeJob& charge,
                       const OrphanJob& orphan) {
  // Each answer that asks for another sending stands for a settle of the dead that arrived late; of these there can
  // only be the few that were under way.
  constexpr int attempts = 10;
  const std::string field = keys::worker_field(dead.slot, dead.incarnation);
  const Reply value = redis.call({"HGET", keys::in_flight_hash(dead.identity), field});
  if (value.view().is_nil()) return {.somebody_was_first = true};

  const LastSettle last = parse_last_settle(value.view().text()).value_or(LastSettle{});
  RecoveryAttempt attempt{.queue = last.queue, .verdicts = {}, .orphans = {}};
  if (dead.record && dead.record->number == last.number) attempt.verdicts = judge(redis, dead, last.queue, charge);
  for (int i = 0; i < attempts; ++i) {
    const Reply reply = send(redis, recovery_call(dead, attempt, limits, wall_now()));
    const RecoveryAnswer answer = read_recovery(reply.view());
    switch (answer.kind) {
      case RecoveryAnswer::Kind::done:
        return answer.result;
      case RecoveryAnswer::Kind::other_queue:
        // Only a settle changes the queue, so the number has moved on too and the verdicts speak of another list.
        attempt = {.queue = answer.queue, .verdicts = {}, .orphans = {}};
        break;
      case RecoveryAnswer::Kind::orphans:
        for (const std::string& payload : answer.payloads) {
          attempt.orphans.push_back({payload, orphan(payload, attempt.queue)});
        }
        break;
    }
  }
  throw UnexpectedReply("the in-flight list of " + dead.identity + " " + field +
                        " changes faster than it can be recovered");
}

}  // namespace brood
