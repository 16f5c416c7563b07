#include <brood/api.hpp>

#include <set>
#include <stdexcept>

#include "shared/api/api_state.hpp"
#include "shared/api/opening.hpp"
#include "shared/api/readings.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sets/job_sets.hpp"

namespace brood {

Api::Api() : Api(std::make_shared<detail::ApiShards>(known_redis())) {}

Api::Api(const std::string& redis_url) : Api(std::make_shared<detail::ApiShards>(known_redis(redis_url))) {}

Api::Api(std::shared_ptr<detail::ApiShards> shards) : shards_(std::move(shards)) {}

Api detail::Opening::api(const KnownRedis& known) { return Api(std::make_shared<ApiShards>(known)); }

void detail::Opening::limit_waits(Api& api, const Connection::Timeouts& timeouts) {
  for (const auto& shard : api.shards_->all()) shard->limit_waits(timeouts);
}

Api::~Api() = default;
Api::Api(Api&&) noexcept = default;
Api& Api::operator=(Api&&) noexcept = default;

std::vector<std::string> Api::shards() const {
  std::vector<std::string> names;
  for (const auto& shard : shards_->all()) names.push_back(shard->shard());
  return names;
}

Api Api::shard(std::string_view name) const {
  if (const auto one = shards_->named(name)) return Api(std::make_shared<detail::ApiShards>(one));
  std::string known;
  for (const std::string& there : shards()) known += (known.empty() ? "\"" : ", \"") + there + "\"";
  throw std::invalid_argument("there is no shard \"" + std::string(name) + "\", but " + known);
}

void Api::on_away(std::function<void(const std::string& shard, const std::string& why)> left_out) {
  shards_->on_away(std::move(left_out));
}

std::vector<Queue> Api::queues() {
  std::set<std::string> names;
  shards_->each([&](detail::ApiState& shard) {
    for (std::string& name :
         shard.converse([](ClientConnection& redis) { return all_names(redis, NamePages::of_queues()); }))
      names.insert(std::move(name));
  });
  std::vector<Queue> queues;
  for (const std::string& name : names) queues.push_back(Queue(shards_, name));
  return queues;
}

Queue Api::queue(std::string name) {
  if (name.empty()) throw std::invalid_argument("a queue has a name");
  return {shards_, std::move(name)};
}

JobSet Api::scheduled() { return {shards_, std::string(scheduled_set)}; }
JobSet Api::retries() { return {shards_, std::string(retry_set)}; }
JobSet Api::dead() { return {shards_, std::string(dead_set)}; }

Periodic Api::periodic() { return Periodic(shards_); }

void Api::limit_dead(std::int64_t max_jobs, std::chrono::seconds timeout) {
  if (max_jobs < 1) throw std::invalid_argument("the dead set has room for one job at least");
  if (timeout.count() < 1) throw std::invalid_argument("a dead job is kept for a second at least");
  for (const auto& shard : shards_->all()) shard->limit_dead({max_jobs, timeout.count()});
}

}  // namespace brood
