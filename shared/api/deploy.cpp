#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/store/report/deploy_marks.hpp"

namespace brood {

// In every shard, since each has a Web UI of its own.
bool Api::mark_deploy(std::string_view label, Time at) {
  if (label.empty()) throw std::invalid_argument("a deployment has a label");
  bool is_new = false;
  shards_->each([&](detail::ApiState& shard) {
    shard.converse([&](ClientConnection& redis) {
      if (!read_may_mark(redis.call(may_mark_deploy(label, wall_time(at))).view())) return;
      redis.transaction(brood::mark_deploy(label, wall_time(at)));
      is_new = true;
    });
  });
  return is_new;
}

std::vector<DeployMark> Api::deploy_marks(Time day) {
  std::vector<DeployMark> marks;
  shards_->each([&](detail::ApiState& shard) {
    const Reply reply =
        shard.converse([&](ClientConnection& redis) { return redis.call(ask_deploy_marks(wall_time(day))); });
    for (MarkOfDeploy& mark : read_deploy_marks(reply.view())) {
      const bool known = std::any_of(marks.begin(), marks.end(), [&](const DeployMark& one) {
        return one.at == to_time(mark.at) && one.label == mark.label;
      });
      if (!known || !shards_->several()) marks.push_back({to_time(mark.at), std::move(mark.label)});
    }
  });
  if (shards_->several())
    std::stable_sort(marks.begin(), marks.end(), [](const DeployMark& a, const DeployMark& b) { return a.at < b.at; });
  return marks;
}

}  // namespace brood
