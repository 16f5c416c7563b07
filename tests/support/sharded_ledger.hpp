#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/storm.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// Several Redis servers, and one ledger of the jobs of all of them.
struct ShardedLedger {
  explicit ShardedLedger(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) servers.emplace_back(RedisServer::Options{.append_only = true});
  }

  std::string config(const std::string& more = "") const { return more + config_of(servers.size()); }
  std::string config_of(std::size_t first_ones) const {
    std::string text;
    for (std::size_t i = 0; i < first_ones; ++i)
      text += fmt::format("[[redis.shard]]\nurl = \"{}\"\n", servers[i].url());
    return text;
  }
  std::string config_draining(const std::set<std::size_t>& drained) const {
    std::string text;
    for (std::size_t i = 0; i < servers.size(); ++i)
      text += fmt::format("[[redis.shard]]\nurl = \"{}\"\ndrain = {}\n", servers[i].url(), drained.contains(i));
    return text;
  }
  // Names the remaining shards, which otherwise would be named after their places.
  std::string config_without(const std::set<std::size_t>& some) const {
    std::string text;
    for (std::size_t i = 0; i < servers.size(); ++i) {
      if (!some.contains(i)) text += fmt::format("[[redis.shard]]\nname = \"{}\"\nurl = \"{}\"\n", i, servers[i].url());
    }
    return text;
  }
  BroodOptions with_workers(int workers, const std::string& more = "") const {
    return {.workers = workers, .config = config(more)};
  }

  // Pushes jobs whose ids continue those of the last ones.
  void push(std::size_t shard, int count, int milliseconds, const std::string& queue = "default") {
    std::vector<std::string> payloads;
    for (int i = 0; i < count; ++i, ++pushed)
      payloads.push_back(
          payload_text("Ledger", fmt::format("[\"{}\",\"{}\",{}]", ledger.path(), pushed, milliseconds), pushed + 1));
    enqueue(servers.at(shard), payloads, queue);
  }
  bool all_done() const { return ledger.has_done(static_cast<std::size_t>(pushed)); }
  int running() const {
    const std::vector<Ledger::Run> runs = ledger.runs();
    return static_cast<int>(std::count_if(runs.begin(), runs.end(), [](const Ledger::Run& run) { return !run.ended; }));
  }
  std::size_t left() {
    std::size_t jobs = 0;
    for (RedisServer& server : servers)
      jobs += server.size_of("queue:default") + server.size_of("retry") + jobs_in_flight(server);
    return jobs;
  }
  bool all_drained() {
    return std::all_of(servers.begin(), servers.end(), [](RedisServer& server) { return drained(server); });
  }

  std::deque<RedisServer> servers;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  int pushed = 0;
};

}  // namespace brood
