#include "shared/store/periodic/periodic_jobs.hpp"

#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/periodic/periodic_rule.hpp"
#include "shared/store/scan.hpp"

namespace brood {

namespace scripts {
extern const Script serve_periodic, claim_tick, pause_periodic, put_periodic_rule, remove_periodic_rule,
    read_periodic_rules;
}

namespace {

using std::chrono::sys_seconds;

constexpr std::string_view longest_without_service = "180";  // three times the interval at which supervisors look
constexpr std::string_view lifetime_of_state = "8640000";    // 100 days

std::string text_of(sys_seconds moment) { return std::to_string(moment.time_since_epoch().count()); }
sys_seconds moment_of(std::int64_t seconds) { return sys_seconds(std::chrono::seconds(seconds)); }

}  // namespace

ScriptCall serve_periodic(const PeriodicService& service) {
  return {&scripts::serve_periodic,
          {keys::brood_periodic, keys::periodic_state(service.name), keys::brood_periodic_rules},
          {service.name, service.rule, service.definition, service.replaces ? "1" : "0",
           std::string(longest_without_service), std::string(lifetime_of_state), service.source, service.place,
           service.paused_at, service.stored}};
}

ServedPeriodic read_served_periodic(ReplyView reply) {
  return {reply[0].integer() == 1, reply[0].integer() == 2, moment_of(reply[1].integer()), reply[2].integer() == 1,
          WallTime(std::chrono::seconds(reply[3].integer()) + std::chrono::microseconds(reply[4].integer()))};
}

Command leave_periodic(std::string_view name) { return {"ZREM", keys::brood_periodic, name}; }

ScriptCall claim_tick(const TickClaim& claim) {
  using WhileHeld = TickClaim::WhileHeld;
  ScriptCall call{&scripts::claim_tick, {keys::periodic_state(claim.name), keys::periodic_history(claim.name)}, {}};
  if (claim.score) {
    call.keys.push_back(keys::schedule);
  } else {
    call.keys.push_back(keys::queue(claim.queue));
    call.keys.push_back(keys::queues);
  }
  call.args = {claim.rule,
               text_of(claim.last),
               claim.tick ? text_of(*claim.tick) : "",
               std::to_string(claim.missed),
               claim.entry,
               std::to_string(most_periodic_history),
               claim.payload,
               claim.jid,
               claim.score.value_or(""),
               claim.while_held == WhileHeld::wait ? "queue" : "skip",
               claim.skipped_entry,
               std::string(lifetime_of_state)};
  if (claim.while_held != WhileHeld::no_matter) call.keys.push_back(keys::unique_lock(turn_of_periodic(claim.name)));
  return call;
}

ClaimedTick read_claimed_tick(ReplyView reply) {
  const std::int64_t outcome = reply[0].integer();
  if (outcome < 0 || outcome > static_cast<std::int64_t>(ClaimedTick::Outcome::waits))
    throw UnexpectedReply("claim_tick answers " + std::to_string(outcome));
  return {static_cast<ClaimedTick::Outcome>(outcome), moment_of(reply[1].integer())};
}

std::string turn_of_periodic(std::string_view name) { return "periodic:" + std::string(name); }

ScriptCall pause_periodic(std::string_view name, bool pauses) {
  return {&scripts::pause_periodic, {keys::periodic_state(name)}, {pauses ? "1" : "0"}};
}

PausedPeriodic read_paused_periodic(ReplyView reply) {
  const std::int64_t changed = reply[0].integer();
  return {changed < 0 ? std::nullopt : std::optional(changed == 0), std::string(reply[1].text())};
}

ScriptCall put_periodic_rule(const AddedRule& added) {
  return {&scripts::put_periodic_rule,
          {keys::brood_periodic_rules, keys::brood_periodic, keys::periodic_state(added.name)},
          {added.name, added.rule, added.rule_text, added.definition, added.by, added.replaces ? "1" : "0",
           std::to_string(most_periodic_rules), std::string(longest_without_service), std::string(lifetime_of_state)}};
}

PutRule read_put_rule(ReplyView reply) {
  using Outcome = PutRule::Outcome;
  const std::int64_t outcome = reply[0].integer();
  if (outcome < 0 || outcome > static_cast<std::int64_t>(Outcome::is_elsewhere))
    throw UnexpectedReply("put_periodic_rule answers " + std::to_string(outcome));
  return {static_cast<Outcome>(outcome), std::string(reply[1].text())};
}

ScriptCall remove_periodic_rule(std::string_view name, std::string_view rule) {
  return {&scripts::remove_periodic_rule,
          {keys::brood_periodic_rules, keys::brood_periodic, keys::periodic_state(name), keys::periodic_history(name)},
          {std::string(name), std::string(rule), std::string(longest_without_service)}};
}

RemovedRule read_removed_rule(ReplyView reply) { return {reply[0].integer() == 1, std::string(reply[1].text())}; }

ScriptCall ask_periodic_rules() {
  return {&scripts::read_periodic_rules,
          {keys::brood_periodic_rules},
          {std::to_string(most_periodic_rules), std::to_string(longest_periodic_rule)}};
}

StoredRules read_periodic_rules(ReplyView reply) {
  StoredRules stored;
  stored.count = reply[0].integer();
  for (std::size_t i = 1; i + 1 < reply.size(); i += 2) stored.rules.emplace_back(reply[i].text(), reply[i + 1].text());
  return stored;
}

Command ask_periodic_names() { return {"ZRANGE", keys::brood_periodic, "0", "-1"}; }

std::vector<std::string> read_periodic_names(ReplyView reply) {
  return read_name_list_if_told(reply).value_or(std::vector<std::string>());
}

Command ask_periodic(std::string_view name) {
  return {"HMGET",  keys::periodic_state(name),
          "rule",   "definition",
          "last",   "seen",
          "paused", "claimed",
          "missed", "skipped",
          "since",  "source",
          "place",  "held"};
}

std::optional<KnownPeriodic> read_periodic(ReplyView reply) {
  if (!reply.is_array() || reply.size() != 12 || !reply[0].is_string()) return std::nullopt;
  KnownPeriodic known;
  known.rule = lenient_text(reply[0]);
  known.definition = lenient_text(reply[1]);
  if (reply[2].is_string()) known.last = moment_of(lenient_number<std::int64_t>(reply[2]));
  if (reply[3].is_string()) known.seen = moment_of(lenient_number<std::int64_t>(reply[3]));
  known.paused = reply[4].is_string();
  known.claimed = lenient_number<std::int64_t>(reply[5]);
  known.missed = lenient_number<std::int64_t>(reply[6]);
  known.skipped = lenient_number<std::int64_t>(reply[7]);
  known.source = lenient_text(reply[9]);
  known.place = lenient_text(reply[10]);
  known.paused_at = lenient_text(reply[11]);
  // Before the first tick, "last" is only the time from which ticks count.
  const bool had_ticks = known.claimed + known.missed + known.skipped > 0;
  if (!had_ticks || (reply[8].is_string() && reply[8].text() == lenient_text(reply[2]))) known.last.reset();
  return known;
}

Command ask_periodic_history(std::string_view name) {
  return {"LRANGE", keys::periodic_history(name), "0", std::to_string(most_periodic_history - 1)};
}

}  // namespace brood
