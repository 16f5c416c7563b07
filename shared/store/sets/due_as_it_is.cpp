#include "shared/store/sets/due_as_it_is.hpp"

#include "shared/base/digest.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

// Both ends tell which member it is: to make a digest of all of a large one would hold up who sends this, and Redis.
std::string digest_of_ends(std::string_view member) {
  constexpr std::size_t end = 64 << 10;
  if (member.size() <= 2 * end) return sha1_hex(member);
  return sha1_hex(std::string(member.substr(0, end)).append(member.substr(member.size() - end)));
}

ScriptCall moving(std::string_view set_key, std::string_view member, std::string_view score_text,
                  std::vector<RedisKey> to) {
  ScriptCall call{&scripts::move_due_as_it_is,
                  {RedisKey(set_key)},
                  {std::string(score_text), std::to_string(member.size()), digest_of_ends(member)}};
  for (RedisKey& key : to) call.keys.push_back(std::move(key));
  return call;
}

}  // namespace

ScriptCall move_due_as_it_is(std::string_view set_key, std::string_view member, std::string_view score_text,
                             std::string_view queue) {
  ScriptCall call = moving(set_key, member, score_text, {keys::queue(queue), keys::queues});
  append(call, {});
  return call;
}

ScriptCall move_due_to_dead_as_it_is(std::string_view set_key, std::string_view member, std::string_view score_text,
                                     WallTime now, const DeadLimits& limits) {
  ScriptCall call = moving(set_key, member, score_text, {keys::dead});
  call.args.push_back(brood::score_text(epoch_seconds(now)));
  for (std::string& limit : limits.script_arguments(now)) call.args.push_back(std::move(limit));
  std::vector<LetGo> let_go;
  append_held(let_go, member, 1, JobEnding::gone);
  append(call, let_go);
  return call;
}

}  // namespace brood
