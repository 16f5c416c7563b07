#include "shared/store/in_flight/settle_and_fetch.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "shared/store/in_flight/caps.hpp"
#include "shared/store/in_flight/entry_mark.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/tenants/tenants.hpp"

namespace brood {
namespace {

// Appends the outcomes from the first that is no success.
void append_others(ScriptCall& call, const Settlement& settlement, std::vector<Outcome>::const_iterator first,
                   WallTime now) {
  for (const FixedKey set : {keys::retry, keys::dead, keys::schedule, keys::brood_quarantined})
    call.keys.push_back(set);
  for (std::string& limit : settlement.dead_limits.script_arguments(now)) call.args.push_back(std::move(limit));
  for (auto outcome = first; outcome != settlement.outcomes.end(); ++outcome) append_arguments(call.args, *outcome);
}

}  // namespace

ScriptCall settle_and_fetch(const Settlement& settlement, WallTime now) {
  ScriptCall call;
  call.script = &scripts::settle_and_fetch;
  const std::string& held = settlement.held_queue;
  call.keys = {keys::in_flight_hash(settlement.identity),
               keys::in_flight_list(settlement.identity, settlement.field, held), keys::queue(held)};
  const std::size_t asked = std::min(settlement.draw.size(), max_queues_asked);
  for (std::size_t i = 0; i < asked; ++i) {
    call.keys.push_back(key_of_jobs(settlement.draw[i]));
    call.keys.push_back(keys::in_flight_list(settlement.identity, settlement.field, settlement.draw[i]));
  }
  const auto first_other = std::find_if_not(settlement.outcomes.begin(), settlement.outcomes.end(),
                                            [](const Outcome& outcome) { return outcome.leaves_nothing(); });
  call.args = {settlement.field,
               std::to_string(settlement.number),
               std::to_string(settlement.want),
               std::to_string(max_bytes_fetched),
               settlement.wait_queue,
               std::to_string(first_other - settlement.outcomes.begin())};
  if (first_other != settlement.outcomes.end()) append_others(call, settlement, first_other, now);
  append(call, settlement.let_go);
  const std::span queues_asked = std::span(settlement.draw).first(asked);
  add_caps(call, settlement.caps, queues_asked);
  if (settlement.tenants != nullptr) add_tenants(call, *settlement.tenants, settlement.caps, queues_asked);
  return call;
}

ScriptCall settle_without_field(const LostSettlement& settlement, WallTime now) {
  ScriptCall call{
      &scripts::settle_without_field,
      {keys::in_flight_hash(settlement.identity),
       keys::in_flight_list(settlement.identity, settlement.field, settlement.held_queue),
       keys::queue(settlement.held_queue), keys::retry, keys::dead, keys::schedule, keys::brood_quarantined},
      {settlement.field}};
  for (std::string& limit : settlement.dead_limits.script_arguments(now)) call.args.push_back(std::move(limit));
  for (const LostSettlement::Performed& performed : settlement.performed) {
    call.args.push_back(entry_mark(performed.entry));
    append_arguments(call.args, performed.outcome);
  }
  std::vector<LetGo> let_go;
  append_held(let_go, settlement.held, settlement.identity);
  for (std::size_t i = 0; i < settlement.performed.size(); ++i) {
    const LostSettlement::Performed& performed = settlement.performed[i];
    if (const auto end = end_of_job(performed.outcome.kind))
      append_held(let_go, performed.entry, i + 1, *end, settlement.dead_limits.timeout_seconds, &performed.outcome);
  }
  append(call, let_go);
  return call;
}

SettledWithoutField read_settled_without_field(ReplyView reply) {
  return {static_cast<std::size_t>(reply[0].integer()), static_cast<std::size_t>(reply[1].integer())};
}

Command wait_on_queue(const std::string& identity, const std::string& field, const std::string& queue,
                      std::chrono::seconds longest) {
  return {"BLMOVE",
          keys::queue(queue),
          keys::in_flight_list(identity, field, queue),
          "RIGHT",
          "LEFT",
          std::to_string(longest.count())};
}

std::optional<std::string> read_arrived(ReplyView reply) {
  if (!reply.is_string()) return std::nullopt;
  return std::string(reply.text());
}

ScriptCall before_wait(const FetchAfterWait& fetch) {
  return {&scripts::fetch_after_wait,
          {keys::queue(fetch.wait_queue), keys::wait_found_job(fetch.identity, fetch.field)},
          {fetch.lets_others_enter ? std::to_string(fetch.number) : "none"}};
}

ScriptCall fetch_after_wait(const FetchAfterWait& fetch) {
  ScriptCall call;
  call.script = &scripts::fetch_after_wait;
  call.keys = {keys::in_flight_hash(fetch.identity),
               keys::in_flight_list(fetch.identity, fetch.field, fetch.wait_queue)};
  for (std::size_t i = 0; i < fetch.draw.size() && i < max_queues_asked_after_wait; ++i) {
    call.keys.push_back(keys::queue(fetch.draw[i]));
    call.keys.push_back(keys::in_flight_list(fetch.identity, fetch.field, fetch.draw[i]));
  }
  call.args = {fetch.field, std::to_string(fetch.number), fetch.wait_queue, std::to_string(fetch.want),
               std::to_string(max_bytes_fetched)};
  return call;
}

Settled read_settled(ReplyView reply) {
  Settled settled;
  const std::string_view status = reply[0].text();
  settled.fenced = status == "FENCED";
  settled.applied_before = status == "AGAIN";
  settled.nothing = status == "NOTHING";
  settled.gone_to_wait = status == "MOVED";
  settled.has_more = status == "MORE";
  settled.has_more_soon = status == "SOON";
  settled.number = static_cast<std::uint64_t>(reply[1].integer());
  settled.queue = reply[2].text();
  for (std::size_t i = 0; i < reply[3].size(); ++i) settled.skipped.emplace_back(reply[3][i].text());
  for (std::size_t i = 0; i < reply[4].size(); ++i) settled.payloads.emplace_back(reply[4][i].text());
  return settled;
}

}  // namespace brood
