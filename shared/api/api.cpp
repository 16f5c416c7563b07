#include <brood/api.hpp>

#include <stdexcept>

#include "shared/api/api_state.hpp"
#include "shared/api/readings.hpp"
#include "shared/store/name_pages.hpp"
#include "shared/store/sets/job_sets.hpp"

namespace brood {

Api::Api() : state_(std::make_shared<detail::ApiState>(known_redis())) {}

Api::Api(const std::string& redis_url) : state_(std::make_shared<detail::ApiState>(known_redis(redis_url))) {}

Api::~Api() = default;
Api::Api(Api&&) noexcept = default;
Api& Api::operator=(Api&&) noexcept = default;

std::vector<Queue> Api::queues() {
  std::vector<Queue> queues;
  for (std::string& name :
       state_->converse([](ClientConnection& redis) { return all_names(redis, NamePages::of_queues()); }))
    queues.push_back(Queue(state_, std::move(name)));
  return queues;
}

Queue Api::queue(std::string name) {
  if (name.empty()) throw std::invalid_argument("a queue has a name");
  return {state_, std::move(name)};
}

JobSet Api::scheduled() { return {state_, std::string(scheduled_set)}; }
JobSet Api::retries() { return {state_, std::string(retry_set)}; }
JobSet Api::dead() { return {state_, std::string(dead_set)}; }

void Api::limit_dead(std::int64_t max_jobs, std::chrono::seconds timeout) {
  if (max_jobs < 1) throw std::invalid_argument("the dead set has room for one job at least");
  if (timeout.count() < 1) throw std::invalid_argument("a dead job is kept for a second at least");
  state_->limit_dead({max_jobs, timeout.count()});
}

}  // namespace brood
