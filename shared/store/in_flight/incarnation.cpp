#include "shared/store/in_flight/incarnation.hpp"

#include "shared/store/keys.hpp"

namespace brood {

ScriptCall register_incarnation(const std::string& identity, const std::string& identity_record,
                                const std::string& field) {
  return {&scripts::register_incarnation,
          {keys::in_flight_hash(identity), keys::brood_processes},
          {field, identity, identity_record}};
}

Command ask_incarnation(const std::string& identity, const std::string& field) {
  return {"HMGET", keys::in_flight_hash(identity), field, holdings_field(field)};
}

IncarnationHoldings read_holdings(ReplyView note) {
  return note.is_string() ? IncarnationHoldings(note.text()) : IncarnationHoldings();
}

Command ask_incarnations(const std::string& identity) { return {"HKEYS", keys::in_flight_hash(identity)}; }

std::string name_of_incarnations(const std::string& identity) { return keys::in_flight_hash(identity).name(); }

ScriptCall give_back(const std::string& identity, const std::string& field, const std::string& queue,
                     std::uint64_t number, int keep, const IncarnationHoldings& held) {
  ScriptCall call{&scripts::give_back,
                  {keys::in_flight_hash(identity), keys::in_flight_list(identity, field, queue), keys::queue(queue)},
                  {field, std::to_string(number), std::to_string(keep)}};
  std::vector<LetGo> let_go;
  append_held(let_go, held, identity);
  append(call, let_go);
  return call;
}

}  // namespace brood
