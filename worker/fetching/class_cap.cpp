#include "worker/fetching/class_cap.hpp"

#include <algorithm>

#include "shared/job/payload.hpp"

namespace brood {
namespace {

bool may_be_of_a_capped_class(const std::vector<CapSettings>& caps, std::string_view payload) {
  return std::any_of(caps.begin(), caps.end(), [&](const CapSettings& cap) {
    return std::any_of(cap.classes.begin(), cap.classes.end(),
                       [&](const std::string& name) { return payload.find(name) != payload.npos; });
  });
}

}  // namespace

std::string aside_for_job(const std::vector<CapSettings>& caps, std::string_view queue, std::string_view payload) {
  if (!may_be_of_a_capped_class(caps, payload)) return "";
  try {
    const Payload job = Payload::parse(payload);
    std::string aside = aside_for(caps, queue, job.job_class());
    // What is where it belongs by one of them is not moved on by the other.
    const bool is_there = home_of(caps, queue) != queue && aside.empty();
    return aside.empty() && !is_there ? aside_for(caps, queue, job.counted_class()) : aside;
  } catch (const BadPayload&) {  // performing it says why
    return "";
  }
}

int jobs_at_once(const CapsuleSettings& capsule, int most) {
  const std::vector<std::string> queues = capsule.queues.names();
  const bool sets_aside = std::any_of(capsule.caps.begin(), capsule.caps.end(), [&](const CapSettings& cap) {
    return std::any_of(queues.begin(), queues.end(), [&](const std::string& queue) {
      return queue == "*" ? !cap.classes.empty() : cap.may_set_aside(queue);
    });
  });
  return capsule.concurrency == 1 && sets_aside ? 1 : most;
}

std::vector<std::vector<CapSettings>> shares_of_caps(const std::vector<CapSettings>& caps,
                                                     const std::vector<RedisAddress>& shards) {
  const auto is_there = [](const RedisAddress& shard) { return !shard.is_empty_place; };
  const auto there = static_cast<std::size_t>(std::count_if(shards.begin(), shards.end(), is_there));
  std::vector<std::vector<CapSettings>> all;
  std::size_t next = 0;
  for (const RedisAddress& shard : shards)
    all.push_back(is_there(shard) ? share_of(caps, next++, there) : std::vector<CapSettings>{});
  return all;
}

}  // namespace brood
