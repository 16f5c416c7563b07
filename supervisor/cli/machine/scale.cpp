#include <fmt/format.h>

#include <charconv>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/fleet/scale_fleet.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"

namespace brood {

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
  // A capsule's name contains no '='.
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
  if (over_redis)
    return scale_fleet({.redis = redis, .process = process, .workers = number, .capsule = capsule, .json = order.json});
  return give(order, [](const JsonObject& answer) {
    return fmt::format("scaled: {}, after {}{}", workers_text(answer), took(answer), still_finishing(answer));
  });
}

}  // namespace brood
