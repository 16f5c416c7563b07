#include "shared/store/rights.hpp"

#include <cstddef>

#include "shared/store/gem_lock.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"

namespace brood {

namespace scripts {
extern const Script try_rights;
}

std::vector<Command> ask_rights(const OwnKeys& own) {
  const RedisKey nobodys = keys::in_flight_hash("~");
  Command tries{"EVAL", scripts::try_rights.text, "0", gem_locks_are_served() ? "1" : "", nobodys};
  for (const FixedKey& key : {keys::retry, keys::schedule, keys::dead, keys::brood_processes, keys::gem_locks})
    tries.add(key);
  tries.add(keys::gem_lock("uniquejobs:~"));
  for (const FixedKey& key : {keys::processes, keys::queues}) tries.add(key);
  for (const RedisKey& key : {keys::heartbeat(own.identity), keys::work(own.identity), keys::workers_of_6(own.identity),
                              keys::signals(own.identity), RedisKey(keys::paused), keys::iteration("~"),
                              RedisKey(keys::brood_paused_classes), keys::queue("")})
    tries.add(key);
  for (const std::string& queue : own.queues) tries.add(keys::queue(queue));
  // No script can try these: EVALSHA of a script that does not exist, and a wait of a millisecond for no job.
  return {tries,
          {"EVALSHA", std::string(40, 'f'), "0"},
          {"BLMOVE", nobodys, keys::in_flight_list("~", "0.0", "~"), "LEFT", "LEFT", "0.001"}};
}

std::string missing_right(const std::vector<ReplyView>& answers) {
  for (const ReplyView& answer : answers) {
    if (classify_error(answer.error()) == ErrorKind::unauthorized) return std::string(answer.error());
    std::string refused;
    for (std::size_t i = 0; answer.is_array() && i + 1 < answer.size(); i += 2) {
      if (classify_error(answer[i + 1].text()) != ErrorKind::unauthorized) continue;  // a key of another type, say
      refused.append(refused.empty() ? "NOPERM this user may not " : ", ").append(answer[i].text());
    }
    if (!refused.empty()) return refused;
  }
  return "";
}

}  // namespace brood
