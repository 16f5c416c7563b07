#include "supervisor/cli/web/page/site.hpp"

#include <chrono>

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
    api_->on_away([this](const std::string& shard, const std::string& why) {
      away_.push_back("Shard " + shard + " is away: " + why);
    });
  }
  return *api_;
}

std::vector<std::string> Site::take_away() { return std::exchange(away_, {}); }

StatusReport Site::machine() const { return look_at_machine(); }
StatusReport Site::everything() const { return look_at_everything(access_, patience); }

}  // namespace brood
