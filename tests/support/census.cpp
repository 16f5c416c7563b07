#include "tests/support/census.hpp"

#include <string_view>

namespace brood {

namespace {

// Returns key, jid, key, jid ...
constexpr std::string_view take_census = R"lua(
local found = {}
local function note(key, payloads)
  for _, payload in ipairs(payloads) do
    found[#found + 1] = key
    found[#found + 1] = payload:match('"jid":"(%x+)"') or ""
  end
end
for _, pattern in ipairs({"queue:*", "brood:inflight:*"}) do
  for _, key in ipairs(redis.call("KEYS", pattern)) do
    if redis.call("TYPE", key).ok == "list" then note(key, redis.call("LRANGE", key, 0, -1)) end
  end
end
for _, key in ipairs({"schedule", "retry", "dead"}) do note(key, redis.call("ZRANGE", key, 0, -1)) end
return found
)lua";

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : " and ") + name;
  return list;
}

}  // namespace

Census::Census(RedisServer& redis) {
  const Reply reply = redis.command({"EVAL", take_census, "0"});
  for (std::size_t i = 0; i + 1 < reply.view().size(); i += 2) {
    const std::string jid(reply.view()[i + 1].text());
    places_[std::stol(jid, nullptr, 16)].emplace_back(reply.view()[i].text());
  }
}

const std::vector<std::string>& Census::places_of(long number) const {
  static const std::vector<std::string> nowhere;
  const auto found = places_.find(number);
  return found == places_.end() ? nowhere : found->second;
}

std::string Census::misplaced(const Ledger& ledger, int count) const {
  const std::map<std::string, int> done = ledger.done();
  std::string said;
  for (int id = 0; id < count; ++id) {
    const std::vector<std::string>& places = places_of(id + 1);
    const std::string name = std::to_string(id);
    if (places.size() > 1) said += "job " + name + " is in " + joined(places) + "; ";
    if (places.empty() && !done.contains(name)) said += "job " + name + " is nowhere, and not done; ";
  }
  return said;
}

}  // namespace brood
