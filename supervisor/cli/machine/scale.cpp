#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/fleet.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// The supervisors that `word` means: an identity, or the beginning of one; all when `word` is empty.
std::vector<std::string> fleet_meant(ShardConnections& shards, const std::string& word) {
  std::set<std::string> beat;
  shards.each([&](ShardConnections::Shard& shard) {
    for (std::string& identity : supervisors_that_beat(shard.redis)) beat.insert(std::move(identity));
  });
  std::vector<std::string> all(beat.begin(), beat.end());
  if (std::find(all.begin(), all.end(), word) != all.end()) return {word};
  std::erase_if(all, [&](const std::string& identity) { return !identity.starts_with(word); });
  if (!word.empty() && all.size() > 1)
    throw UsageError(fmt::format("\"{}\" may be {}", log::printable(word), fmt::join(all, " or ")));
  return all;
}

// Orders through Redis get no answer: the result shows in the heartbeats.
int scale_fleet(const RedisAccess& access, const std::string& word, const SupervisorOrder& order) {
  ShardConnections shards(access, {.connect = 3s, .command = 5s}, "brood-scale");
  const std::vector<std::string> meant = fleet_meant(shards, word);
  std::vector<std::string> asked;
  for (const std::string& identity : meant) {
    if (!shards.any([&](auto& shard) { return send_word(shard.redis, identity, {"scale", order.arguments}); }))
      continue;
    asked.push_back(identity);
    if (!order.json)
      print(fmt::format("{}: ordered to scale {} to {}; it follows within seconds\n", log::printable(identity),
                        log::printable(order.arguments[1]), order.arguments[0]));
  }
  if (order.json) print_json(JsonWriter().texts("asked", asked).object() + "\n");
  if (!asked.empty()) return exit_status::ok;
  fmt::print(stderr, "brood scale: no supervisor {}has a heartbeat\n",
             word.empty() ? "" : fmt::format("\"{}\" ", log::printable(word)));
  return exit_status::unavailable;
}

}  // namespace

int scale_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "scale"};
  RedisAccess redis;
  std::string capsule = "default", process;
  bool all = false;
  CommandLine line("Changes the number of workers until the next restart: brood scale [CAPSULE=]N [OPTIONS]",
                   "brood scale");
  line.option("--capsule", capsule, "NAME", "The capsule (default: default)");
  line.option("--process", process, "IDENTITY",
              "A supervisor on any machine, through Redis; a unique beginning is enough");
  line.flag("--all", all, "All supervisors on all machines, through Redis");
  order.add_options_but_config(line);
  redis.add_options(line);
  line.footer(restart_footer);
  const std::vector<std::string> words = line.parse(args);
  if (words.empty()) throw UsageError("the number of workers is missing");
  if (words.size() > 1) refuse_arguments({words[1]});
  // A capsule's name holds no '='.
  const std::size_t sign = words[0].find('=');
  const std::string number = sign == std::string::npos ? words[0] : words[0].substr(sign + 1);
  if (sign != std::string::npos) capsule = words[0].substr(0, sign);
  int workers = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), workers);
  if (error != std::errc{} || end != number.data() + number.size() || workers < 1)
    throw UsageError(fmt::format("N must be a number of workers, at least 1, not \"{}\"", log::printable(number)));
  order.arguments = {number, capsule};
  const bool over_redis = all || !process.empty();
  if (all && !process.empty()) throw UsageError("--all and --process exclude each other");
  if (over_redis && (order.pid != 0 || !order.instance.empty()))
    throw UsageError("--pid and --instance exclude --all and --process");
  if (!over_redis && !(redis.url.empty() && !redis.shard))
    throw UsageError("--redis and --shard need --all or --process");
  if (!over_redis) order.config = redis.config;
  if (over_redis) return scale_fleet(redis, process, order);
  return give(order, [](const JsonObject& answer) {
    return fmt::format("scaled: {}, after {}{}", workers_text(answer), took(answer), still_finishing(answer));
  });
}

}  // namespace brood
