#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/store/report/deploy_marks.hpp"

namespace brood {

bool Api::mark_deploy(std::string_view label, Time at) {
  if (label.empty()) throw std::invalid_argument("a deployment has a label");
  return state_->converse([&](ClientConnection& redis) {
    if (!read_may_mark(redis.call(may_mark_deploy(label, wall_time(at))).view())) return false;
    redis.transaction(brood::mark_deploy(label, wall_time(at)));
    return true;
  });
}

std::vector<DeployMark> Api::deploy_marks(Time day) {
  const Reply reply =
      state_->converse([&](ClientConnection& redis) { return redis.call(ask_deploy_marks(wall_time(day))); });
  std::vector<DeployMark> marks;
  for (MarkOfDeploy& mark : read_deploy_marks(reply.view())) marks.push_back({to_time(mark.at), std::move(mark.label)});
  return marks;
}

}  // namespace brood
