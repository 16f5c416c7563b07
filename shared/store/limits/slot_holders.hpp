#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/limits/take_limits.hpp"

namespace brood {

// Who is written down as holding a slot of a limit of concurrency.  The first answers its kind: slots have those alone.
Command ask_limit_kind(const std::string& limit_name);
bool read_has_slots(ReplyView reply);
Command ask_slots(const std::string& limit_name);
// What nobody of ours has written there is left out.  Nothing too where Redis refuses to tell.
std::vector<LimitHolder> read_slots(ReplyView reply);

// Who can say whether a holder still holds.
enum class Witness {
  its_field,  // in the shard where the limit lies
  its_shard,  // its field in another shard
  // That shard is configured no more, and nobody can ask there:
  ourselves,       // a worker of ours
  its_supervisor,  // which beats where the limit lies, as long as it lives
};
// Pure.  `shards` are those that are configured.
Witness witness_of(const LimitHolder& holder, std::string_view own_identity, const std::set<std::string>& shards);

}  // namespace brood
