#include "tests/support/all_entries.hpp"

namespace brood {
namespace {

const char* const look = R"lua(
local found = {}
for _, key in ipairs(redis.call("KEYS", "*")) do
  local kind, members = redis.call("TYPE", key).ok, {}
  if kind == "list" then members = redis.call("LRANGE", key, 0, -1) elseif kind == "zset" then members = redis.call("ZRANGE", key, 0, -1) end
  for _, member in ipairs(members) do found[#found + 1] = key; found[#found + 1] = member end
end
return found
)lua";

}  // namespace

std::vector<Entry> all_entries(Channel& redis) {
  const Reply reply = redis.call({"EVAL", look, "0"});
  std::vector<Entry> entries;
  for (std::size_t i = 0; i + 1 < reply.view().size(); i += 2)
    entries.push_back({std::string(reply.view()[i].text()), std::string(reply.view()[i + 1].text())});
  return entries;
}

}  // namespace brood
