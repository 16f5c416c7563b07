#include "worker/recovery/free_slots.hpp"

#include <map>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "shared/store/scan.hpp"

namespace brood {
namespace {

bool holds_there(Channel& shard, const LimitHolder& holder) {
  const Reply field = shard.call(ask_holder(holder));
  return read_still_holds(holder, field.view());
}

}  // namespace

int free_slots_of_the_gone(Channel& redis, const SlotWitnesses& witnesses) {
  std::map<std::string, std::vector<LimitHolder>> gone, doubtful;  // by the names of their limits
  std::set<std::string> supervisors, shards_away;
  const Reply names = redis.call(ask_limit_names());
  for (const std::string& name : read_name_list_if_told(names.view()).value_or(std::vector<std::string>())) {
    const Reply kind = redis.call(ask_limit_kind(name));
    if (!read_has_slots(kind.view())) continue;
    const Reply slots = redis.call(ask_slots(name));
    for (LimitHolder& holder : read_slots(slots.view())) {
      bool holds = true;
      switch (witness_of(holder, witnesses.own.identity, witnesses.shards)) {
        case Witness::its_field:
          holds = holds_there(redis, holder);
          break;
        case Witness::its_shard:
          if (shards_away.contains(holder.elsewhere)) break;
          try {
            holds = holds_there(witnesses.shard(holder.elsewhere), holder);
          } catch (const ConnectionLost&) {
            shards_away.insert(holder.elsewhere);
          }
          break;
        case Witness::ourselves:
          holds = witnesses.own.lives(holder.field);
          break;
        case Witness::its_supervisor:
          supervisors.insert(holder.identity);
          doubtful[name].push_back(holder);
      }
      if (!holds) gone[name].push_back(std::move(holder));
    }
  }
  if (!supervisors.empty()) {
    const std::set<std::string> silent = witnesses.silent(supervisors);
    for (auto& [name, holders] : doubtful) {
      for (LimitHolder& holder : holders) {
        if (silent.contains(holder.identity)) gone[name].push_back(std::move(holder));
      }
    }
  }
  int freed = 0;
  for (const auto& [name, holders] : gone) {
    const Reply reply = redis.run(forget_holders(name, holders));
    const int of_limit = static_cast<int>(reply.view().integer());
    freed += of_limit;
    if (of_limit > 0) log::warn("stray_slots_freed", {{"limit", name}, {"slots", of_limit}});
  }
  return freed;
}

}  // namespace brood
