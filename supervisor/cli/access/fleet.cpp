#include "supervisor/cli/access/fleet.hpp"

#include <algorithm>

#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/work_entries.hpp"
#include "shared/store/scan.hpp"

namespace brood {
namespace {

constexpr std::size_t shortest_beginning = 4, usual_length = 24;  // of an id

bool is_meant(const std::string& jid, const std::string& word) {
  return jid == word || (word.size() >= shortest_beginning && jid.size() == usual_length && jid.starts_with(word));
}

// An entry of a process's list of running jobs; its payload is a string, or an object in older releases.
std::optional<JsonObject> job_of(std::string_view entry) {
  try {
    const JsonObject work = JsonObject::parse(entry);
    const std::string raw(work.raw("payload").value_or("{}"));
    return JsonObject::parse(raw.starts_with('"') ? json_unescape(raw) : raw);
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> supervisors_that_beat(Connection& redis) {
  std::vector<std::string> all = read_name_list(redis.call(ask_owners()).view());
  std::vector<Command> commands;
  for (const std::string& identity : all) commands.push_back(ask_whether_beats(identity));
  const std::vector<Reply> replies = redis.pipeline(commands);
  std::vector<std::string> beating;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (read_whether_beats(replies[i].view()).value_or(false)) beating.push_back(std::move(all[i]));
  }
  std::sort(beating.begin(), beating.end());
  return beating;
}

bool send_word(Connection& redis, const std::string& identity, const FleetWord& word) {
  const std::vector<Reply> known = redis.pipeline({ask_is_owner(identity), ask_whether_beats(identity)});
  if (!read_is_owner(known[0].view()) || !read_whether_beats(known[1].view()).value_or(false)) return false;
  return read_was_left(redis.pipeline(leave_signal(identity, text_of(word))).front().view());
}

std::vector<RunningElsewhere> who_runs(Connection& redis, const std::string& jid) {
  const std::vector<std::string> identities = supervisors_that_beat(redis);
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back(ask_running(identity));
  const std::vector<Reply> replies = redis.pipeline(commands);
  std::vector<RunningElsewhere> found;
  for (std::size_t i = 0; i < identities.size(); ++i) {
    for (const std::string& work : read_running(replies[i].view())) {
      const auto job = job_of(work);
      const std::string id = job ? job->string("jid").value_or("") : "";
      if (!id.empty() && is_meant(id, jid)) found.push_back({identities[i], id, job->string("class").value_or("")});
    }
  }
  const bool whole =
      std::any_of(found.begin(), found.end(), [&](const RunningElsewhere& one) { return one.jid == jid; });
  if (whole) std::erase_if(found, [&](const RunningElsewhere& one) { return one.jid != jid; });
  return found;
}

}  // namespace brood
