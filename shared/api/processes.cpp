#include "shared/api/process_record.hpp"

#include <algorithm>

#include "shared/api/api_state.hpp"
#include "shared/api/readings.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

// Takes processes without a heartbeat out of `processes`, unless somebody did so within the last minute.  Does nothing
// where Redis takes no writes (a replica, a full Redis): others will.
void prune(ClientConnection& redis) {
  const Reply lock = std::move(redis.pipeline({{"SET", keys::process_cleanup, "1", "NX", "EX", "60"}}).front());
  if (lock.view().is_nil() || lock.view().is_error()) return;
  const std::vector<std::string> identities = members_of(redis, keys::processes);
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back({"HGET", identity, "info"});
  const std::vector<Reply> infos = redis.pipeline(commands);
  Command remove{"SREM", keys::processes};
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].view().is_nil()) remove.add(identities[i]);
  }
  if (remove.args.size() > 2) redis.pipeline({remove});
}

std::optional<Process> find_process(ClientConnection& redis, std::string_view identity) {
  const std::vector<Reply> replies = redis.pipeline({{"SISMEMBER", keys::processes, identity}, ask_process(identity)});
  if (replies[0].view().is_error()) redis.refuse(keys::processes, replies[0].view().error());
  if (replies[0].view().integer() == 0) return std::nullopt;
  return read_process(std::string(identity), replies[1].view());
}

enum class Embedded { refuses, obeys };

bool signal(detail::ApiState& state, std::string_view identity, std::string_view name, Embedded embedded) {
  return state.converse([&](ClientConnection& redis) {
    const auto process = find_process(redis, identity);
    if (!process || (process->embedded && embedded == Embedded::refuses)) return false;
    const std::string key = keys::signals(identity);
    redis.transaction({{"LPUSH", key, name}, {"EXPIRE", key, "60"}});
    return true;
  });
}

}  // namespace

std::vector<Process> Api::processes() {
  return state_->converse([](ClientConnection& redis) {
    prune(redis);
    std::vector<Command> commands;
    const std::vector<std::string> identities = members_of(redis, keys::processes);
    for (const std::string& identity : identities) commands.push_back(ask_process(identity));
    const std::vector<Reply> replies = redis.pipeline(commands);
    std::vector<Process> processes;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (auto process = read_process(identities[i], replies[i].view())) processes.push_back(std::move(*process));
    }
    return processes;
  });
}

std::optional<Process> Api::process(std::string_view identity) {
  return state_->converse([&](ClientConnection& redis) { return find_process(redis, identity); });
}

std::string Api::leader() {
  return state_->converse([](ClientConnection& redis) {
    return lenient_text(redis.pipeline({{"GET", keys::leader}}).front().view());
  });
}

bool Api::quiet(std::string_view identity) { return signal(*state_, identity, "TSTP", Embedded::refuses); }

bool Api::stop(std::string_view identity) { return signal(*state_, identity, "TERM", Embedded::refuses); }

bool Api::dump(std::string_view identity) { return signal(*state_, identity, "TTIN", Embedded::obeys); }

std::vector<Work> Api::work() {
  return state_->converse([](ClientConnection& redis) {
    const std::vector<std::string> identities = members_of(redis, keys::processes);
    std::vector<Command> commands;
    for (const std::string& identity : identities) {
      commands.push_back({"HGETALL", keys::work(identity)});
      commands.push_back({"HGETALL", keys::workers_of_6(identity)});
    }
    const std::vector<Reply> replies = redis.pipeline(commands);
    std::vector<Work> all;
    for (std::size_t i = 0; i < identities.size(); ++i) {
      // A process may write both, for readers of every release: then both say the same.
      const ReplyView newer = replies[2 * i].view();
      const ReplyView hash = newer.is_array() && newer.size() > 0 ? newer : replies[2 * i + 1].view();
      for (std::size_t field = 0; hash.is_array() && field + 1 < hash.size(); field += 2) {
        auto work = read_work(identities[i], std::string(hash[field].text()), hash[field + 1].text());
        if (work) all.push_back(std::move(*work));
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Work& a, const Work& b) { return a.run_at < b.run_at; });
    return all;
  });
}

}  // namespace brood
