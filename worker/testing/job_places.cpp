#include "worker/testing/job_places.hpp"

#include <charconv>

#include <brood/detail/members.hpp>

namespace brood::testing {
namespace {

// The whole keyspace, in one step: the Redis of a test is small.
constexpr std::string_view lists = R"(
local function each_list(visit)
  for _, pattern in ipairs({"queue:*", "brood:inflight:*:*"}) do
    for _, key in ipairs(redis.call("KEYS", pattern)) do
      if redis.call("TYPE", key).ok == "list" then visit(key) end
    end
  end
end
)";

// ARGV[1]: what the text of the job has in it.  Returns where it is, and in a set its text and its score.
constexpr std::string_view find_job = R"(
local found = false
each_list(function(key)
  for _, text in ipairs(redis.call("LRANGE", key, 0, -1)) do
    found = found or string.find(text, ARGV[1], 1, true) ~= nil
  end
end)
if found then return {"waits"} end
for _, set in ipairs({"schedule", "retry", "dead"}) do
  local entries = redis.call("ZRANGE", set, 0, -1, "WITHSCORES")
  for i = 1, #entries, 2 do
    if string.find(entries[i], ARGV[1], 1, true) then return {set, entries[i], entries[i + 1]} end
  end
end
return {"nowhere"}
)";

constexpr std::string_view count_waiting = R"(
local waiting = 0
each_list(function(key) waiting = waiting + redis.call("LLEN", key) end)
return waiting
)";

RedisAddress at_socket(const std::string& path) {
  RedisAddress address;
  address.socket_path = path;
  return address;
}

JobPlaces::Place place_of(std::string_view name) {
  if (name == "waits") return JobPlaces::Place::waits;
  if (name == "schedule") return JobPlaces::Place::schedule;
  if (name == "retry") return JobPlaces::Place::retry;
  return name == "dead" ? JobPlaces::Place::dead : JobPlaces::Place::nowhere;
}

}  // namespace

JobPlaces::JobPlaces(const std::string& socket_path) : redis_(at_socket(socket_path)) {}

JobPlaces::Found JobPlaces::find(std::string_view jid) {
  const Reply reply = eval(find_job, {"\"jid\":" + brood::detail::quoted(jid)});
  const ReplyView answer = reply.view();
  Found found{place_of(answer[0].text())};
  if (answer.size() == 3) {
    SetEntry entry;
    static_cast<JobRecord&>(entry) = JobRecord::read(std::string(answer[1].text()));
    entry.score_text = answer[2].text();
    std::from_chars(entry.score_text.data(), entry.score_text.data() + entry.score_text.size(), entry.score);
    found.entry = std::move(entry);
  }
  return found;
}

std::size_t JobPlaces::waiting() { return static_cast<std::size_t>(eval(count_waiting).view().integer()); }

Reply JobPlaces::eval(std::string_view body, std::initializer_list<std::string_view> arguments) {
  Command command{"EVAL", std::string(lists).append(body), "0"};
  for (const std::string_view argument : arguments) command.add(argument);
  Reply reply = redis_.call(command);
  const std::string_view error = reply.view().error();
  if (classify_error(error) == ErrorKind::not_applied_retry) throw ConnectionLost(std::string(error));
  return reply;
}

}  // namespace brood::testing
