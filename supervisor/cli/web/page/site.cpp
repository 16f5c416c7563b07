#include "supervisor/cli/web/page/site.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "shared/api/opening.hpp"
#include "supervisor/cli/status/look.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr Connection::Timeouts patience{.connect = 1s, .command = 3s};

}  // namespace

Api& Site::api() {
  if (!api_) {
    const Config config = access_.configuration();
    api_ = std::make_unique<Api>(detail::Opening::api(access_.known()));
    api_->limit_dead(config.dead_max_jobs, config.dead_timeout);
    api_->on_away([this](const std::string& shard, const std::string& why) { note_away(shard, why); });
  }
  return *api_;
}

ShardConnections& Site::shards() {
  if (!shards_) {
    shards_ = std::make_unique<ShardConnections>(access_, patience, "brood-web");
    shards_->on_away([this](const std::string& shard, const std::string& why) { note_away(shard, why); });
  }
  return *shards_;
}

Client& Site::client() {
  if (!client_) client_ = detail::Opening::client(access_.known());
  return *client_;
}

void Site::note_away(const std::string& shard, const std::string& why) {
  std::string sentence = "Shard " + shard + " is away: " + why;
  if (std::find(away_.begin(), away_.end(), sentence) == away_.end()) away_.push_back(std::move(sentence));
}

std::vector<std::string> Site::take_away() { return std::exchange(away_, {}); }

StatusReport Site::machine() const { return look_at_machine(); }
StatusReport Site::everything() const { return look_at_everything(access_, patience); }

}  // namespace brood
