#include "shared/api/process_record.hpp"

#include <algorithm>
#include <map>

#include "shared/api/api_state.hpp"
#include "shared/api/readings.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/report/fleet_word.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/work_entries.hpp"

namespace brood {
namespace {

// Removes processes without a heartbeat from `processes`, unless that was done within the last minute.  Does nothing
// if Redis takes no writes (a replica, a full Redis): others will.
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

// Signals a process in only one of the shards where it beats: a second TERM would cut its stop short.
bool signal(const detail::ApiShards& shards, std::string_view identity, std::string_view name, Embedded embedded) {
  return shards.any("", [&](detail::ApiState& shard) {
    return shard.converse([&](ClientConnection& redis) {
      const auto process = find_process(redis, identity);
      if (!process || (process->embedded && embedded == Embedded::refuses)) return false;
      redis.transaction(leave_signal(identity, name));
      return true;
    });
  });
}

std::vector<Process> processes_of(detail::ApiState& shard) {
  return shard.converse([](ClientConnection& redis) {
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

std::vector<Work> work_of(detail::ApiState& shard) {
  return shard.converse([&](ClientConnection& redis) {
    const std::vector<std::string> identities = all_names(redis, NamePages::of_processes());
    const std::vector<Reply> replies = redis.pipeline(ask_work(identities));
    const std::vector<std::vector<WorkEntry>> entries = read_work_entries(replies);
    std::vector<Work> all;
    for (std::size_t i = 0; i < identities.size(); ++i) {
      for (const WorkEntry& entry : entries[i]) {
        auto work = read_work(identities[i], entry.thread_id, entry.work);
        if (!work) continue;
        work->job.shard = shard.shard();
        all.push_back(std::move(*work));
      }
    }
    return all;
  });
}

}  // namespace

void merge_process(Process& into, const Process& other) {
  into.busy += other.busy;
  into.concurrency = std::max(into.concurrency, other.concurrency);
  into.rss_kb = std::max(into.rss_kb, other.rss_kb);
  into.rtt_us = std::max(into.rtt_us, other.rtt_us);
  into.quiet = into.quiet && other.quiet;
  into.beat = std::max(into.beat, other.beat);
  into.shards.insert(into.shards.end(), other.shards.begin(), other.shards.end());
  for (const std::string& queue : other.queues) {
    if (std::find(into.queues.begin(), into.queues.end(), queue) == into.queues.end()) into.queues.push_back(queue);
  }
}

std::vector<Process> Api::processes() {
  std::map<std::string, Process> all;
  shards_->each([&](detail::ApiState& shard) {
    for (Process& process : processes_of(shard)) {
      if (!shard.shard().empty()) process.shards = {shard.shard()};
      const auto [known, is_new] = all.try_emplace(process.identity, process);
      if (!is_new) merge_process(known->second, process);
    }
  });
  std::vector<Process> processes;
  for (auto& [identity, process] : all) processes.push_back(std::move(process));
  return processes;
}

std::optional<Process> Api::process(std::string_view identity) {
  std::optional<Process> found;
  shards_->each([&](detail::ApiState& shard) {
    auto process = shard.converse([&](ClientConnection& redis) { return find_process(redis, identity); });
    if (!process) return;
    if (!shard.shard().empty()) process->shards = {shard.shard()};
    if (found)
      merge_process(*found, *process);
    else
      found = std::move(process);
  });
  return found;
}

std::string Api::leader() {
  std::string leader;
  shards_->each([&](detail::ApiState& shard) {
    if (leader.empty())
      leader = shard.converse(
          [](ClientConnection& redis) { return lenient_text(redis.pipeline({ask_leader()}).front().view()); });
  });
  return leader;
}

bool Api::quiet(std::string_view identity) { return signal(*shards_, identity, "TSTP", Embedded::refuses); }

bool Api::stop(std::string_view identity) { return signal(*shards_, identity, "TERM", Embedded::refuses); }

bool Api::resume(std::string_view identity) {
  return shards_->any("", [&](detail::ApiState& shard) {
    return shard.converse([&](ClientConnection& redis) {
      const std::vector<Reply> known = redis.pipeline({ask_is_owner(identity), ask_whether_beats(identity)});
      if (!read_is_owner(known[0].view()) || !read_whether_beats(known[1].view()).value_or(false)) return false;
      redis.transaction(leave_signal(identity, text_of(FleetWord{"resume"})));
      return true;
    });
  });
}

bool Api::dump(std::string_view identity) { return signal(*shards_, identity, "TTIN", Embedded::obeys); }

std::vector<Work> Api::work() {
  std::vector<Work> all;
  shards_->each([&](detail::ApiState& shard) {
    for (Work& work : work_of(shard)) all.push_back(std::move(work));
  });
  std::stable_sort(all.begin(), all.end(), [](const Work& a, const Work& b) { return a.run_at < b.run_at; });
  return all;
}

}  // namespace brood
