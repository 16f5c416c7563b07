// Caps of queues and of classes; see world.hpp.

#include <fmt/format.h>

#include <algorithm>

#include "shared/store/keys.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/queues/set_aside.hpp"
#include "tests/store/interleavings/payloads.hpp"
#include "tests/store/interleavings/world.hpp"

namespace brood::interleavings {
namespace {

// Only one worker at a time may have jobs of the class, and only one may have jobs of queue c.
const std::vector<CapSettings> all_caps{{"k", {}, 1, {"Capped"}}, {"q", {"c"}, 1}};
constexpr std::array<const char*, 3> queues{"a", "b", "c"};

std::vector<std::string> texts(ReplyView reply) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < reply.size(); ++i) all.emplace_back(reply[i].text());
  return all;
}

}  // namespace

const std::vector<CapSettings>& World::caps() const {
  static const std::vector<CapSettings> none;
  return has_caps_ ? all_caps : none;
}

// No more workers hold jobs of capped queues than there are places, and what waits beside a queue is found there.
void World::check_caps(const std::vector<Place>& places) {
  if (!has_caps_) return;
  std::map<std::pair<int, std::string>, std::set<std::string>> holding;
  std::map<int, std::set<std::string>> beside;
  for (const Place& place : places) {
    if (const auto list = keys::parse_in_flight_list(place.key)) {
      for (const CapSettings* const cap : caps_of(all_caps, list->queue))
        holding[{place.shard, cap->name}].insert(place.key);
    } else if (place.key.starts_with("queue:") && place.key.find('@') != place.key.npos) {
      beside[place.shard].insert(place.key.substr(std::string_view("queue:").size()));
    }
  }
  for (const auto& [of, lists] : holding) {
    const auto cap = std::ranges::find(all_caps, of.second, &CapSettings::name);
    if (static_cast<std::int64_t>(lists.size()) > cap->most)
      fault(fmt::format("in shard {} {} workers have places of {}", of.first, lists.size(), of.second));
  }
  for (const auto& [number, names] : beside) {
    const std::vector<std::string> known = texts(shard(number).redis.call(ask_set_aside()).view());
    for (const std::string& name : names) {
      if (!std::ranges::count(known, name)) fault(fmt::format("nobody looks for what waits in {}", name));
    }
  }
}

// Does what a supervisor does whose workers have no such cap.
void World::return_set_aside(Shard& at) {
  if (at.is_away) return;
  const std::string home = queues[random_() % queues.size()], aside = home + "@k";
  const auto waiting = [&](const std::string& queue) {
    return texts(at.redis.call({"LRANGE", keys::queue(queue), "0", "-1"}).view());
  };
  const std::vector<std::string> set_aside = waiting(aside);
  std::vector<std::string> newest_first = waiting(home);
  Command command = brood::return_set_aside(aside, home, chance(0.5) ? 2 : 1'000).command();
  without_rules(broken_, command, false);
  const Reply reply = at.redis.call(command);
  if (!reply.view().error().empty()) return;
  const auto returned = static_cast<std::ptrdiff_t>(reply.view().integer());
  coverage_.returned_aside += returned;
  if (returned > 0) note(fmt::format("{} jobs go back to {} in shard {}", returned, home, at.number));
  newest_first.insert(newest_first.end(), set_aside.begin(), set_aside.begin() + returned);
  if (waiting(home) != newest_first) fault("what was set aside goes back to " + home + " out of order");
}

// For Broken::places_freed_at_death.
void World::free_places_of(const Worker& worker) {
  const std::string mine = fmt::format(":{}.{}:", worker.slot, worker.incarnation);
  for (const CapSettings& cap : caps()) {
    Shard& at = shard(worker.shard);
    for (const std::string& list : texts(at.redis.call({"SMEMBERS", keys::cap(cap.name)}).view())) {
      if (list.find(mine) != list.npos) at.redis.call({"SREM", keys::cap(cap.name), list});
    }
  }
}

// For Broken::set_aside_apart.
void World::push_aside(Worker& worker, const std::vector<std::pair<std::string, std::string>>& jobs) {
  for (const auto& [queue, payload] : jobs) worker.channel->call({"LPUSH", keys::queue(queue), payload});
}

}  // namespace brood::interleavings
