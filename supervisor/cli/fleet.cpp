#include "supervisor/cli/fleet.hpp"

#include <algorithm>

#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr std::size_t shortest_beginning = 4, usual_length = 24;  // of an id
constexpr std::string_view seconds_to_be_followed = "60";         // as Sidekiq's signals

bool is_meant(const std::string& jid, const std::string& word) {
  return jid == word || (word.size() >= shortest_beginning && jid.size() == usual_length && jid.starts_with(word));
}

// An entry of a process's list of running jobs; the payload in it is a text, or an object in older releases.
std::optional<JsonObject> job_of(ReplyView entry) {
  if (!entry.is_string()) return std::nullopt;
  try {
    const JsonObject work = JsonObject::parse(entry.text());
    const std::string raw(work.raw("payload").value_or("{}"));
    return JsonObject::parse(raw.starts_with('"') ? json_unescape(raw) : raw);
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> supervisors_that_beat(Connection& redis) {
  const Reply names = redis.call({"HKEYS", keys::brood_processes});
  std::vector<std::string> all;
  std::vector<Command> commands;
  for (std::size_t i = 0; i < names.view().size(); ++i) {
    all.emplace_back(names.view()[i].text());
    commands.push_back({"EXISTS", all.back()});
  }
  const std::vector<Reply> replies = redis.pipeline(commands);
  std::vector<std::string> beating;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (replies[i].view().is_integer() && replies[i].view().integer() != 0) beating.push_back(std::move(all[i]));
  }
  std::sort(beating.begin(), beating.end());
  return beating;
}

bool send_word(Connection& redis, const std::string& identity, const FleetWord& word) {
  const std::vector<Reply> known = redis.pipeline({{"HEXISTS", keys::brood_processes, identity}, {"EXISTS", identity}});
  for (const Reply& reply : known) {
    if (!reply.view().is_integer() || reply.view().integer() == 0) return false;
  }
  const std::string key = keys::signals(identity);
  const std::vector<Reply> sent =
      redis.pipeline({{"LPUSH", key, text_of(word)}, {"EXPIRE", key, std::string(seconds_to_be_followed)}});
  return sent[0].view().is_integer();
}

std::vector<RunningElsewhere> who_runs(Connection& redis, const std::string& jid) {
  const std::vector<std::string> identities = supervisors_that_beat(redis);
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back({"HVALS", keys::work(identity)});
  const std::vector<Reply> replies = redis.pipeline(commands);
  std::vector<RunningElsewhere> found;
  for (std::size_t i = 0; i < identities.size(); ++i) {
    const ReplyView entries = replies[i].view();
    for (std::size_t j = 0; entries.is_array() && j < entries.size(); ++j) {
      const auto job = job_of(entries[j]);
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
