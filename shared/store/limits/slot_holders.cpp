#include "shared/store/limits/slot_holders.hpp"

#include <optional>

#include "shared/store/keys.hpp"

namespace brood {

Command ask_limit_kind(const std::string& limit_name) { return {"HGET", keys::limit(limit_name), "kind"}; }

bool read_has_slots(ReplyView reply) { return reply.is_string() && limit_kind(reply.text()) == LimitKind::concurrent; }

Command ask_slots(const std::string& limit_name) {
  return {"ZRANGE", keys::limit_used(limit_name), "0", "-1", "WITHSCORES"};
}

std::vector<LimitHolder> read_slots(ReplyView reply) {
  std::vector<LimitHolder> holders;
  for (std::size_t i = 0; reply.is_array() && i + 1 < reply.size(); i += 2) {
    if (std::optional<LimitHolder> holder = read_limit_holder(reply[i].text(), reply[i + 1].text()))
      holders.push_back(std::move(*holder));
  }
  return holders;
}

Witness witness_of(const LimitHolder& holder, std::string_view own_identity, const std::set<std::string>& shards) {
  if (holder.elsewhere.empty()) return Witness::its_field;
  if (shards.contains(holder.elsewhere)) return Witness::its_shard;
  return holder.identity == own_identity ? Witness::ourselves : Witness::its_supervisor;
}

}  // namespace brood
