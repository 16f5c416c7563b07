#include "supervisor/web/page/site.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "shared/api/opening.hpp"
#include "supervisor/cli/access/options_for_people.hpp"
#include "supervisor/cli/status/look.hpp"
#include "supervisor/web/page/call.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr Connection::Timeouts patience{.connect = 1s, .command = 3s};
constexpr auto rest_after_failure = 1s;
constexpr auto proven_for = 1s;
constexpr auto refusal_lasts = 10min;  // each attempt is a line in Redis' ACL log

}  // namespace

Api& Site::api() {
  refuse_while_resting();
  if (!api_) {
    const Config config = access_.configuration();
    api_ = std::make_unique<Api>(detail::Opening::api(access_.known()));
    detail::Opening::limit_waits(*api_, patience);
    api_->limit_dead(config.dead_max_jobs, config.dead_timeout);
    api_->on_away([this](const std::string& shard, const std::string& why) { note_away(shard, why); });
  }
  return *api_;
}

ShardConnections& Site::shards() {
  refuse_while_resting();
  if (!shards_) {
    shards_ = std::make_unique<ShardConnections>(access_, patience, "brood-web");
    shards_->on_away([this](const std::string& shard, const std::string& why) { note_away(shard, why); });
  }
  return *shards_;
}

Client& Site::client() {
  prove_that_redis_answers();
  if (!client_) client_ = detail::Opening::client(access_.known());
  return *client_;
}

void Site::note_away(const std::string& shard, const std::string& why) {
  std::string sentence = "Shard " + shard + " is away: " + why;
  if (std::find(away_.begin(), away_.end(), sentence) == away_.end()) away_.push_back(std::move(sentence));
}

std::vector<std::string> Site::take_away() { return std::exchange(away_, {}); }

StatusReport Site::machine() const { return look_at_machine(); }

template <typename Look>
StatusReport Site::look(Look look) {
  if (const auto why = why_it_rests()) {
    StatusReport report = look_at_machine();
    report.error = *why;
    return report;
  }
  StatusReport report = look(access_, patience);
  if (!report.redis) rest(report.error);
  return report;
}

StatusReport Site::everything() { return look(look_at_everything); }
StatusReport Site::own_processes() { return look(look_at_own_processes); }
StatusReport Site::readiness() { return look(look_whether_ready); }

bool Site::tells_of_redis() {
  const SteadyTime now = steady_now();
  const MetricsTeller turn = take_turn_to_tell(shards(), settings_.listen, now < may_not_tell_until_);
  if (turn == MetricsTeller::unknown && now >= may_not_tell_until_) may_not_tell_until_ = now + refusal_lasts;
  return turn != MetricsTeller::another;
}

std::string Site::replay_of(const std::string& jid) const {
  return "brood replay " + shell_word(jid) + " --gdb" + (access_.for_people.empty() ? "" : " " + access_.for_people);
}

void Site::rest(const std::string& why) {
  why_it_rests_ = why;
  rests_until_ = steady_now() + rest_after_failure;
}

std::optional<std::string> Site::why_it_rests() const {
  return steady_now() < rests_until_ ? std::optional(why_it_rests_) : std::nullopt;
}

void Site::refuse_while_resting() const {
  if (const auto why = why_it_rests()) throw Refused(503, *why);
}

// For a push: a Client would wait longer than a page may, because it cannot know whether what it sent was pushed.
void Site::prove_that_redis_answers() {
  if (steady_now() - answered_ < proven_for) return;
  shards().each([](ShardConnections::Shard& shard) { shard.redis.call({"PING"}); });
  answered_ = steady_now();
}

}  // namespace brood
