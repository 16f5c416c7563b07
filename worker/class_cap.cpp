#include "worker/class_cap.hpp"

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

std::vector<std::vector<CapSettings>> shares_of_caps(const std::vector<CapSettings>& caps, std::size_t shards) {
  std::vector<std::vector<CapSettings>> all;
  for (std::size_t shard = 0; shard < std::max<std::size_t>(shards, 1); ++shard)
    all.push_back(share_of(caps, shard, shards));
  return all;
}

}  // namespace brood
