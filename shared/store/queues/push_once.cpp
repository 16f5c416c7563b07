#include "shared/store/queues/push_once.hpp"

#include <random>
#include <stdexcept>
#include <utility>

#include "shared/base/planted_bug.hpp"
#include "shared/store/keys.hpp"

namespace brood {

ScriptCall push_once(std::string_view client, std::uint64_t number, std::string_view queue,
                     std::vector<std::string> payloads) {
  const std::size_t each = queue.empty() ? 2 : 1;
  if (payloads.empty() || payloads.size() % each != 0 || payloads.size() / each > max_jobs_pushed_once)
    throw std::invalid_argument("push_once takes 1 to 500 jobs");
  ScriptCall call{&scripts::push_once, {keys::pushes(client)}, {std::to_string(number), "86400"}};
  if (queue.empty()) {
    call.keys.push_back(keys::schedule);
  } else {
    call.keys.push_back(keys::queue(queue));
    call.keys.push_back(keys::queues);
  }
  if (planted(PlantedBug::lost_push_is_pushed_twice))
    call.keys[0] = keys::pushes(std::to_string(std::random_device()()));
  for (std::string& payload : payloads) call.args.push_back(std::move(payload));
  return call;
}

}  // namespace brood
