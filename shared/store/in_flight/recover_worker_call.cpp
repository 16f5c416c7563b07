#include <charconv>

#include "shared/store/in_flight/entry_mark.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/worker_field.hpp"

namespace brood {
namespace {

void append(std::vector<std::string>& args, const RecoveryAttempt::VerdictOnEntry& verdict) {
  args.push_back(verdict.entry ? entry_mark(*verdict.entry) : "");
  append_arguments(args, verdict.outcome);
}

}  // namespace

ScriptCall recovery_call(const DeadWorker& dead, const RecoveryAttempt& attempt, const DeadLimits& limits,
                         WallTime now) {
  const std::string field = worker_field(dead.slot, dead.incarnation);
  ScriptCall call{&scripts::recover,
                  {keys::in_flight_hash(dead.identity), keys::brood_processes, keys::retry, keys::dead, keys::schedule,
                   keys::in_flight_list(dead.identity, field, attempt.queue), keys::queue(attempt.queue)},
                  {field, dead.identity, dead.record ? std::to_string(dead.record->number) : "", attempt.queue}};
  if (dead.only_while_silent) call.keys.push_back(keys::heartbeat(dead.identity));
  for (std::string& limit : limits.script_arguments(now)) call.args.push_back(std::move(limit));
  call.args.push_back(std::to_string(attempt.verdicts.size()));
  for (const auto& verdict : attempt.verdicts) append(call.args, verdict);
  for (const auto& orphan : attempt.orphans) append(call.args, orphan);
  std::vector<LetGo> let_go;
  append_held(let_go, attempt.held, dead.identity);
  std::size_t number = 0;
  for (const auto* verdicts : {&attempt.verdicts, &attempt.orphans}) {
    for (const auto& verdict : *verdicts) {
      ++number;
      if (const auto end = end_of_job(verdict.outcome.kind))
        append_held(let_go, verdict.holder, number, *end, limits.timeout_seconds, &verdict.outcome);
    }
  }
  append(call, let_go);
  return call;
}

RecoveryAnswer read_recovery(ReplyView reply) {
  RecoveryAnswer answer;
  const std::string_view word = reply[0].text();
  if (word == "DONE") {
    answer.result.acknowledged = static_cast<int>(reply[1].integer());
    answer.result.charged = static_cast<int>(reply[2].integer());
    answer.result.given_back = static_cast<int>(reply[3].integer());
    answer.result.orphaned = static_cast<int>(reply[4].integer());
  } else if (word == "GONE") {
    answer.result.somebody_was_first = true;
  } else if (word == "LIVES") {
    answer.result.owner_lives = true;
  } else if (word == "QUEUE") {
    answer.kind = RecoveryAnswer::Kind::other_queue;
    answer.queue = reply[1].text();
  } else if (word == "HOLDS") {
    answer.kind = RecoveryAnswer::Kind::holds;
    answer.note = reply[1].text();
  } else if (word == "ORPHANS") {
    answer.kind = RecoveryAnswer::Kind::orphans;
    for (std::size_t i = 1; i < reply.size(); ++i) answer.payloads.emplace_back(reply[i].text());
  } else {
    throw UnexpectedReply("the recovery script answered " + std::string(word));
  }
  return answer;
}

std::optional<LastSettle> parse_last_settle(std::string_view field_value) {
  LastSettle settle;
  const char* const end = field_value.data() + field_value.size();
  const auto [rest, error] = std::from_chars(field_value.data(), end, settle.number);
  if (error != std::errc{} || rest == end || *rest != ' ') return std::nullopt;
  settle.queue.assign(rest + 1, end);
  return settle;
}

}  // namespace brood
