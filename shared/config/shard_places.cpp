#include "shared/config/shard_places.hpp"

#include <algorithm>
#include <utility>

namespace brood {
namespace {

using Shards = std::vector<ShardSettings>;

Shards::const_iterator find(const Shards& shards, const std::string& name) {
  return std::find_if(shards.begin(), shards.end(), [&](const ShardSettings& shard) { return shard.name == name; });
}

ShardSettings place_of_nobody(const std::string& name) {
  ShardSettings place;
  place.name = name;
  place.is_empty_place = true;
  return place;
}

void forget_empty_places(RedisSettings& settings) {
  std::erase_if(settings.shard_list, [](const ShardSettings& shard) { return shard.is_empty_place; });
  settings.empty_places = 0;
}

}  // namespace

RedisSettings with_empty_places(const RedisSettings& now, RedisSettings wanted) {
  forget_empty_places(wanted);
  wanted.empty_places = std::max(now.shards + now.empty_places - wanted.shards, 0);
  if (now.shard_list.empty() || wanted.shard_list.empty()) return wanted;
  Shards places;
  auto next = wanted.shard_list.begin();
  for (const ShardSettings& shard : now.shard_list) {
    if (shard.is_empty_place || find(wanted.shard_list, shard.name) == wanted.shard_list.end()) {
      places.push_back(place_of_nobody(shard.name));
    } else {
      if (next == wanted.shard_list.end() || next->name != shard.name) return wanted;
      places.push_back(*next++);
    }
  }
  places.insert(places.end(), next, wanted.shard_list.end());
  wanted.shard_list = std::move(places);
  return wanted;
}

RedisSettings with_empty_places(const std::vector<int>& numbers, RedisSettings wanted) {
  forget_empty_places(wanted);
  if (wanted.shard_list.empty()) {
    wanted.empty_places = static_cast<int>(numbers.size());
    return wanted;
  }
  for (const int number : numbers) {
    const int place = std::clamp(number, 0, static_cast<int>(wanted.shard_list.size()));
    wanted.shard_list.insert(wanted.shard_list.begin() + place, place_of_nobody(""));
  }
  return wanted;
}

bool is_empty_place(const RedisSettings& settings, int number) {
  const auto place = static_cast<std::size_t>(number);
  if (!settings.shard_list.empty())
    return place < settings.shard_list.size() && settings.shard_list[place].is_empty_place;
  return number >= settings.shards && number < settings.shards + settings.empty_places;
}

std::vector<int> empty_places(const RedisSettings& wanted) {
  std::vector<int> numbers;
  const int places =
      wanted.shard_list.empty() ? wanted.shards + wanted.empty_places : static_cast<int>(wanted.shard_list.size());
  for (int number = 0; number < places; ++number) {
    if (is_empty_place(wanted, number)) numbers.push_back(number);
  }
  return numbers;
}

std::vector<int> places_left_empty(const RedisSettings& now, const RedisSettings& wanted) {
  const std::vector<int> before = empty_places(now);
  std::vector<int> left = empty_places(wanted);
  std::erase_if(left, [&](int number) { return std::find(before.begin(), before.end(), number) != before.end(); });
  return left;
}

}  // namespace brood
