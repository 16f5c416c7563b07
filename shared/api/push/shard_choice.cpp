#include "shared/api/push/shard_choice.hpp"

#include <algorithm>

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime::duration shortest_rest = 1s, longest_rest = 60s;

}  // namespace

std::vector<std::size_t> shards_to_try(std::size_t first, std::span<const SteadyTime> rest_until, SteadyTime now) {
  std::vector<std::size_t> order;
  order.reserve(rest_until.size());
  for (std::size_t i = 0; i < rest_until.size(); ++i) order.push_back((first + i) % rest_until.size());
  const auto rest_of = [&](std::size_t shard) { return std::max(rest_until[shard], now); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rest_of(a) < rest_of(b); });
  return order;
}

SteadyTime::duration rest_after(SteadyTime::duration took) { return std::clamp(9 * took, shortest_rest, longest_rest); }

}  // namespace brood
