#include "shared/store/sets/due_jobs.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shared/base/digest.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"

namespace brood {

ScriptCall move_due(std::string_view set_key, std::vector<DueJob> jobs) {
  if (jobs.empty() || jobs.size() > max_jobs_moved) throw std::invalid_argument("move_due takes 1 to 250 jobs");
  std::stable_sort(jobs.begin(), jobs.end(), [](const DueJob& a, const DueJob& b) { return a.queue < b.queue; });

  ScriptCall call{&scripts::move_due, {RedisKey(set_key), keys::queues}, {}};
  call.args.reserve(4 * jobs.size());
  for (auto first = jobs.begin(); first != jobs.end();) {
    const auto last = std::find_if(first, jobs.end(), [&](const DueJob& job) { return job.queue != first->queue; });
    call.keys.push_back(keys::queue(first->queue));
    call.args.push_back(std::to_string(last - first));
    first = last;
  }
  for (const DueJob& job : jobs) call.args.emplace_back(job.member);
  for (const DueJob& job : jobs) call.args.emplace_back(job.score_text);
  for (DueJob& job : jobs) call.args.push_back(std::move(job.payload_to_push));
  return call;
}

MoveCounts read_moved(ReplyView reply) {
  const auto count = [&](std::size_t i) { return static_cast<std::size_t>(reply[i].integer()); };
  return {count(0), count(1), count(2)};
}

namespace {

// Both ends suffice to identify a member: a digest of all of a large one would hold up the sender and Redis.
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
  append_held(let_go, member, 1, JobEnding::gone, limits.timeout_seconds);
  append(call, let_go);
  return call;
}

ScriptCall move_due_to_dead(std::string_view set_key, const std::string& member, const std::string& score_text,
                            const std::string& kept, WallTime now, const DeadLimits& limits) {
  ScriptCall call{&scripts::move_due_to_dead,
                  {RedisKey(set_key), keys::dead},
                  {member, score_text, kept, brood::score_text(epoch_seconds(now))}};
  const std::vector<std::string> trimming = limits.script_arguments(now);
  call.args.insert(call.args.end(), trimming.begin(), trimming.end());
  std::vector<LetGo> let_go;
  append_held(let_go, member, 1, JobEnding::gone, limits.timeout_seconds);
  append(call, let_go);
  return call;
}

}  // namespace brood
