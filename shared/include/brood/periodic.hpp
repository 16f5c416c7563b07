#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <brood/detail/pushed_job.hpp>
#include <brood/enqueue_options.hpp>

#pragma GCC visibility push(hidden)
namespace brood {

// What happens to ticks of a periodic job that came while no supervisor was running.
enum class CatchUp {
  none,  // they are skipped
  last,  // the last of them pushes its job
  all    // all push their jobs, in order
};

// What happens at a tick while the job of the tick before has not ended: that job waits in its queue, runs, or waits
// for a retry.
enum class Overlap {
  allow,  // another job is pushed
  skip,   // no job is pushed
  queue   // another is pushed as soon as that one has ended; of several such ticks only the last
};

// The options of a periodic job: see Setup::periodic() in <brood/setup.hpp>, and [periodic.NAME] in brood.toml(5).
// C++ requires designated members in the order of this list.
struct PeriodicOptions {
  std::string tz = "UTC";  // time zone of the rule, a name in /usr/share/zoneinfo
  // nullopt: last for rules with at most one tick an hour, and with Overlap::queue; else none.
  std::optional<CatchUp> catch_up = {};
  // The greatest age of a tick that is caught up.  nullopt: an hour, with Overlap::queue a day.
  std::optional<std::chrono::seconds> within = {};
  Overlap overlap = Overlap::allow;  // what happens at a tick while the job before has not ended
  std::chrono::seconds jitter{0};    // delays each job by a random time of at most this
  EnqueueOptions job = {};           // options of its pushes, without jid, spread, batch_size and shard_by
};

namespace detail {

// One line of JSON, in the form that the worker reads.
template <typename Job>
std::string periodic_line(std::string_view name, std::string_view cron, const Job& job,
                          const PeriodicOptions& options) {
  constexpr std::string_view catch_up[] = {"none", "last", "all"};
  constexpr std::string_view overlap[] = {"allow", "skip", "queue"};
  const Push push = pushed_job(job, options.job);
  for (const auto& [member, json] : push.members) {
    if (member == "encrypt" && json != "false")
      throw std::invalid_argument(
          "brood: the arguments of a periodic job are stored in clear: its class cannot have encrypt");
    if (member == "unique_until" && json != "\"running\"")
      throw std::invalid_argument(
          "brood: a periodic job uses overlap instead of unique: set {.job = {.unique = false}}");
  }
  if (options.jitter.count() < 0 || (options.within && options.within->count() < 1))
    throw std::invalid_argument("brood: a periodic job has a jitter below 0 or a time within of less than a second");
  std::string line = "{\"name\":" + json_text(name) + ",\"cron\":" + json_text(cron) +
                     ",\"tz\":" + json_text(options.tz) + ",\"class\":" + json_text(push.job_class) +
                     ",\"args\":" + push.args + ",\"queue\":" + json_text(push.queue) +
                     ",\"retry\":" + json_text(push.retry);
  if (options.catch_up) line.append(",\"catch_up\":").append(json_text(catch_up[static_cast<int>(*options.catch_up)]));
  if (options.within) line += ",\"within\":" + std::to_string(options.within->count());
  line.append(",\"overlap\":").append(json_text(overlap[static_cast<int>(options.overlap)]));
  line += ",\"jitter\":" + std::to_string(options.jitter.count()) + ",\"members\":{";
  for (std::size_t i = 0; i < push.members.size(); ++i) {
    const auto& [member, json] = push.members[i];
    line.append(i == 0 ? "" : ",").append(json_text(member)).append(":").append(json);
  }
  std::replace(line.begin(), line.end(), '\n', ' ');  // of what was JSON already
  return line + "}}\n";
}

}  // namespace detail
}  // namespace brood
#pragma GCC visibility pop
