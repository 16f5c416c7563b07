#include "shared/api/process_record.hpp"

#include <algorithm>

#include "shared/api/api_state.hpp"
#include "shared/api/readings.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_hash.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/pruning.hpp"
#include "shared/store/report/signals.hpp"
#include "shared/store/report/work_entries.hpp"

namespace brood {
namespace {

// Takes processes without a heartbeat out of `processes`, unless somebody did so within the last minute.  Does nothing
// where Redis takes no writes (a replica, a full Redis): others will.
void prune(ClientConnection& redis) {
  if (!read_may_prune(redis.pipeline({may_prune()}).front().view())) return;
  const std::vector<std::string> identities = all_names(redis, NamePages::of_processes());
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back(ask_info(identity));
  const std::vector<Reply> infos = redis.pipeline(commands);
  std::vector<std::string> ended;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (heartbeat_has_ended(infos[i].view())) ended.push_back(identities[i]);
  }
  if (!ended.empty()) redis.pipeline({unlist(ended)});
}

std::optional<Process> find_process(ClientConnection& redis, std::string_view identity) {
  const Command is_process = ask_is_process(identity);
  const std::vector<Reply> replies = redis.pipeline({is_process, ask_process_hash(identity)});
  if (replies[0].view().is_error()) redis.refuse(is_process, replies[0].view().error());
  if (replies[0].view().integer() == 0) return std::nullopt;
  return read_process(std::string(identity), replies[1].view());
}

enum class Embedded { refuses, obeys };

bool signal(detail::ApiState& state, std::string_view identity, std::string_view name, Embedded embedded) {
  return state.converse([&](ClientConnection& redis) {
    const auto process = find_process(redis, identity);
    if (!process || (process->embedded && embedded == Embedded::refuses)) return false;
    redis.transaction(leave_signal(identity, name));
    return true;
  });
}

}  // namespace

std::vector<Process> Api::processes() {
  return state_->converse([](ClientConnection& redis) {
    prune(redis);
    std::vector<Command> commands;
    const std::vector<std::string> identities = all_names(redis, NamePages::of_processes());
    for (const std::string& identity : identities) commands.push_back(ask_process_hash(identity));
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
  return state_->converse(
      [](ClientConnection& redis) { return lenient_text(redis.pipeline({ask_leader()}).front().view()); });
}

bool Api::quiet(std::string_view identity) { return signal(*state_, identity, "TSTP", Embedded::refuses); }

bool Api::stop(std::string_view identity) { return signal(*state_, identity, "TERM", Embedded::refuses); }

bool Api::dump(std::string_view identity) { return signal(*state_, identity, "TTIN", Embedded::obeys); }

std::vector<Work> Api::work() {
  return state_->converse([](ClientConnection& redis) {
    const std::vector<std::string> identities = all_names(redis, NamePages::of_processes());
    const std::vector<Reply> replies = redis.pipeline(ask_work(identities));
    const std::vector<std::vector<WorkEntry>> entries = read_work_entries(replies);
    std::vector<Work> all;
    for (std::size_t i = 0; i < identities.size(); ++i) {
      for (const WorkEntry& entry : entries[i]) {
        auto work = read_work(identities[i], entry.thread_id, entry.work);
        if (work) all.push_back(std::move(*work));
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Work& a, const Work& b) { return a.run_at < b.run_at; });
    return all;
  });
}

}  // namespace brood
