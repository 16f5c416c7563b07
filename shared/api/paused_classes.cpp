#include <brood/api.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/store/queues/class_pauses.hpp"
#include "shared/store/queues/known_queues.hpp"

namespace brood {
namespace {

std::optional<Time> api_time_of(const std::optional<std::int64_t>& seconds) {
  constexpr std::int64_t latest = 9'000'000'000;  // what a clock of nanoseconds can tell
  return seconds ? std::optional(Time(std::chrono::seconds(std::min(*seconds, latest)))) : std::nullopt;
}

void refuse_no_class(std::string_view job_class) {
  if (job_class.empty()) throw std::invalid_argument("a class has a name");
}

}  // namespace

std::vector<PausedClass> Api::paused_classes() {
  std::vector<PausedClass> all;
  shards_->each([&](detail::ApiState& shard) {
    const std::vector<Reply> replies = shard.converse([](ClientConnection& redis) {
      return redis.pipeline({ask_paused_classes(), ask_class_pauses()});
    });
    ClassPauses pauses = read_class_pauses(replies[1].view());
    const std::optional<NameSet> paused = read_paused(replies[0].view());
    if (!paused) throw RedisError(std::string(replies[0].view().error()));
    for (const std::string& name : *paused) {
      const ClassPause& pause = pauses[name];
      all.push_back({.job_class = name,
                     .reason = pause.reason,
                     .since = api_time_of(pause.since),
                     .until = api_time_of(pause.until),
                     .shard = shards_->several() ? shard.shard() : ""});
    }
  });
  return all;
}

void Api::pause_class(std::string_view job_class, std::string_view reason, std::chrono::seconds length) {
  refuse_no_class(job_class);
  if (reason.size() > longest_pause_reason) throw std::invalid_argument("a reason has at most 500 bytes");
  if (length.count() < 0 || length > longest_class_pause)
    throw std::invalid_argument("a class is paused for at most a year, or until it is unpaused");
  const auto ends_after = length.count() == 0 ? std::nullopt : std::optional(length);
  shards_->each([&](detail::ApiState& shard) {
    shard.converse([&](ClientConnection& redis) { redis.run(brood::pause_class(job_class, reason, ends_after)); });
  });
}

bool Api::unpause_class(std::string_view job_class) {
  refuse_no_class(job_class);
  bool was_paused = false;
  shards_->each([&](detail::ApiState& shard) {
    shard.converse([&](ClientConnection& redis) {
      const Reply unpaused = redis.run(brood::unpause_class(job_class));
      was_paused |= unpaused.view().integer() == 1;
    });
  });
  return was_paused;
}

}  // namespace brood
