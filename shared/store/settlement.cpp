#include "shared/store/settlement.hpp"

#include "shared/store/keys.hpp"

namespace brood {

ScriptCall settle_and_fetch(const Settlement& settlement, WallTime now) {
  ScriptCall call;
  call.script = &scripts::settle_and_fetch;
  const std::string& held = settlement.held_queue;
  call.keys = {keys::in_flight_hash(settlement.identity),
               keys::in_flight_list(settlement.identity, settlement.field, held),
               keys::queue(held),
               std::string(keys::retry),
               std::string(keys::dead),
               std::string(keys::schedule)};
  for (std::size_t i = 0; i < settlement.draw.size() && i < max_queues_asked; ++i) {
    call.keys.push_back(keys::queue(settlement.draw[i]));
    call.keys.push_back(keys::in_flight_list(settlement.identity, settlement.field, settlement.draw[i]));
  }
  call.args = {settlement.field, std::to_string(settlement.number), std::to_string(settlement.want),
               std::to_string(max_bytes_fetched), settlement.wait_queue};
  for (std::string& limit : settlement.dead_limits.script_arguments(now)) call.args.push_back(std::move(limit));
  call.args.push_back(std::to_string(settlement.outcomes.size()));
  for (const Outcome& outcome : settlement.outcomes) append_arguments(call.args, outcome);
  return call;
}

Settled read_settled(ReplyView reply) {
  Settled settled;
  const std::string_view status = reply[0].text();
  settled.fenced = status == "FENCED";
  settled.applied_before = status == "AGAIN";
  settled.number = static_cast<std::uint64_t>(reply[1].integer());
  settled.queue = reply[2].text();
  for (std::size_t i = 0; i < reply[3].size(); ++i) settled.skipped.emplace_back(reply[3][i].text());
  for (std::size_t i = 0; i < reply[4].size(); ++i) settled.payloads.emplace_back(reply[4][i].text());
  return settled;
}

}  // namespace brood
