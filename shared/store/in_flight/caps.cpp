#include "shared/store/in_flight/caps.hpp"

#include <algorithm>

#include "shared/base/planted_bug.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/tenants/tenants.hpp"

namespace brood {

namespace scripts {
extern const Script free_places, show_cap;
}

void add_caps(ScriptCall& settle_and_fetch, const std::vector<CapSettings>* caps,
              std::span<const std::string> queues_asked) {
  std::vector<std::string>& args = settle_and_fetch.args;
  std::size_t count = 0;
  for (std::size_t number = 0; caps != nullptr && number < caps->size(); ++number) {
    const CapSettings& cap = (*caps)[number];
    std::size_t places = 0;
    for (std::size_t i = 0; i < queues_asked.size(); ++i) {
      const std::vector<const CapSettings*> caps_here = caps_of(*caps, queues_asked[i]);
      if (std::find(caps_here.begin(), caps_here.end(), &cap) == caps_here.end()) continue;
      args.push_back(std::to_string(i + 1));
      ++places;
    }
    if (places == 0) continue;
    args.push_back(std::to_string(places));
    args.push_back(std::to_string(cap.most + (planted(PlantedBug::cap_has_a_place_more) ? 1 : 0)));
    settle_and_fetch.keys.push_back(keys::cap(cap.name));
    ++count;
  }
  args.push_back(std::to_string(count));
}

ScriptCall free_places(const std::vector<std::string>& queues, const std::vector<CapSettings>& caps) {
  ScriptCall call{&scripts::free_places, {}, {}};
  for (const std::string& queue : queues) {
    const std::vector<const CapSettings*> caps_here = caps_of(caps, queue);
    if (caps_here.empty()) continue;
    call.keys.push_back(key_of_jobs(queue));
    call.args.push_back(std::to_string(caps_here.size()));
    for (const CapSettings* const cap : caps_here) {
      call.keys.push_back(keys::cap(cap->name));
      call.args.push_back(std::to_string(cap->most));
    }
  }
  return call;
}

std::vector<std::int64_t> read_free_places(ReplyView reply) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < reply.size(); ++i) numbers.push_back(reply[i].integer());
  return numbers;
}

Command ask_caps() { return {"HGETALL", keys::brood_caps}; }

std::map<std::string, std::int64_t> read_caps(ReplyView reply) {
  std::map<std::string, std::int64_t> caps;
  for (std::size_t i = 0; reply.is_array() && i + 1 < reply.size(); i += 2)
    caps[std::string(reply[i].text())] = lenient_number<std::int64_t>(reply[i + 1]);
  return caps;
}

ScriptCall show_cap(const std::string& name) { return {&scripts::show_cap, {keys::cap(name)}, {}}; }

std::vector<std::string> read_cap_holders(ReplyView reply) {
  std::vector<std::string> holders;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const std::string key(reply[i].text());
    const std::size_t begins = key.find(keys::in_flight_hash("").name());  // behind the prefix of a shard
    const auto list = begins == key.npos ? std::nullopt : keys::parse_in_flight_list(key.substr(begins));
    holders.push_back(list ? list->identity + "/" + list->field : key);
  }
  return holders;
}

Command forget_cap(const std::string& name) { return {"HDEL", keys::brood_caps, name}; }

}  // namespace brood
