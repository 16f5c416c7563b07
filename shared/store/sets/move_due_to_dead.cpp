#include "shared/store/sets/move_due_to_dead.hpp"

#include "shared/job/payload.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"

namespace brood {

ScriptCall move_due_to_dead(std::string_view set_key, const std::string& member, const std::string& score_text,
                            const std::string& kept, WallTime now, const DeadLimits& limits) {
  ScriptCall call{&scripts::move_due_to_dead,
                  {RedisKey(set_key), keys::dead},
                  {member, score_text, kept, brood::score_text(epoch_seconds(now))}};
  const std::vector<std::string> trimming = limits.script_arguments(now);
  call.args.insert(call.args.end(), trimming.begin(), trimming.end());
  std::vector<LetGo> let_go;
  append_held(let_go, member, 1, JobEnding::gone);
  append(call, let_go);
  return call;
}

}  // namespace brood
