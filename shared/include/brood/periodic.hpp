#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/detail/pushed_job.hpp>
#include <brood/enqueue_options.hpp>

#pragma GCC visibility push(hidden)
namespace brood {

// The treatment of ticks at which no supervisor was running.
enum class CatchUp {
  none,  // they are skipped
  last,  // only the last of them pushes its job
  all    // all push their jobs, in order
};

// The treatment of a tick while the job of the previous tick has not ended: that job waits in its queue, runs, or waits
// for a retry.
enum class Overlap {
  allow,  // another job is pushed
  skip,   // no job is pushed
  queue   // a job is pushed as soon as the previous one has ended, and only one for several such ticks
};

// The options of a periodic job: see Setup::periodic() in <brood/setup.hpp>, and [periodic.NAME] in brood.toml(5).
// C++ requires designated members in the order of this list.
struct PeriodicOptions {
  std::string tz = "UTC";  // time zone of the rule, a name in /usr/share/zoneinfo
  // nullopt: last for rules with at most one tick an hour, and with Overlap::queue; else none.
  std::optional<CatchUp> catch_up = {};
  // The greatest age of a tick that is caught up.  nullopt: an hour, with Overlap::queue a day.
  std::optional<std::chrono::seconds> within = {};
  Overlap overlap = Overlap::allow;  // the treatment of a tick while the previous job has not ended
  std::chrono::seconds jitter{0};    // delays each job by a random time of at most this
  EnqueueOptions job = {};           // options of its pushes, without jid, spread, batch_size and shard_by
};

namespace detail {

// Returns one line of JSON, in the form that the worker reads.  Throws std::invalid_argument for invalid options.
inline std::string periodic_line(std::string_view name, std::string_view cron, const Push& push,
                                 const PeriodicOptions& options) {
  constexpr std::string_view catch_up[] = {"none", "last", "all"};
  constexpr std::string_view overlap[] = {"allow", "skip", "queue"};
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
  std::replace(line.begin(), line.end(), '\n', ' ');  // JSON of the caller may have line ends
  return line + "}}\n";
}

template <typename Job>
std::string periodic_line(std::string_view name, std::string_view cron, const Job& job,
                          const PeriodicOptions& options) {
  return periodic_line(name, cron, pushed_job(job, options.job), options);
}

}  // namespace detail
}  // namespace brood
#pragma GCC visibility pop

namespace brood {

class Api;

namespace detail {
class __attribute__((visibility("hidden"))) ApiShards;
struct PeriodicRules;
}  // namespace detail

// Where the rule of a periodic job is written.
enum class PeriodicSource {
  configuration,  // in [periodic.NAME] of brood.toml
  library,        // in a job library, by Setup::periodic()
  redis           // in Redis, by Periodic or `brood periodic add`
};

// A tick of a rule.
struct BROOD_API PeriodicTick {
  std::chrono::system_clock::time_point at;  // the time of the tick
  std::chrono::seconds offset{0};            // by which the clock of the rule's zone is then ahead of UTC
  std::string local;                         // the time in that zone: "2026-11-25 03:00:00 +01:00"
};

// A periodic job as Redis has it.
struct BROOD_API PeriodicJob {
  std::string name;                               // its name in commands
  std::string cron, tz, args;                     // the rule, its time zone, and the arguments as a JSON array
  std::string job_class;                          // the class that runs at each tick
  std::string queue, retry;                       // the queue of its jobs; true, false or a number, as JSON
  PeriodicSource source = PeriodicSource::redis;  // where its rule is written
  // The file and line of the configuration, the library, or the user or program that added it; and the host.
  std::string place;
  bool paused = false;    // its ticks push no job: a command or the configuration pauses it
  std::string paused_at;  // the file and line at which the configuration pauses it; empty: it does not
  std::optional<std::chrono::system_clock::time_point> next, last;  // ticks; nullopt: there is none
  std::int64_t claimed = 0;                                         // number of ticks that pushed a job
  std::int64_t missed = 0;   // number of ticks at which no supervisor ran and that were not caught up
  std::int64_t skipped = 0;  // number of ticks that Overlap::skip skipped
  std::string error;         // why its rule in Redis cannot be used; empty: it can
};

// Periodic jobs that are added while brood runs.  Their rules are in Redis beside those of the configuration.  All
// supervisors serve them, from a few seconds after the call on.  One job is pushed for each tick, by any of the
// supervisors.
//
//   brood::Periodic periodic;
//   for (const brood::PeriodicTick& tick : brood::Periodic::next("30 2 * * *", "Europe/Berlin")) show(tick.local);
//   periodic.add("report-7", "30 2 * * *", NightlyReport{7}, {.tz = "Europe/Berlin"});
//   periodic.remove("report-7");
//
// A rule with a fixed minute and hour has one tick a day, also on a day when the clock is changed.  Other rules follow
// the time that passes.  PeriodicOptions describes the rest.
//
// Invalid arguments throw std::invalid_argument, whose text describes the error: a name (letters, digits and
// _ . : @ / -), a rule, a zone that this machine does not have, or a name that the configuration or a job library of a
// supervisor has.  All calls that ask Redis throw RedisError; all shards have to answer.  While a brood::testing::Fake
// or Inline exists, it keeps the rules.  Several threads may use an object.
class BROOD_API Periodic {
 public:
  // Finds Redis as brood::Api does: in a job that of its worker, elsewhere as `brood run` does.  It does not connect
  // yet.
  Periodic();
  explicit Periodic(const std::string& redis_url);  // the same URLs as brood::Api

  // Adds a periodic job: a job struct, or a brood::Push, whose options then come from the Push.  Returns false if Redis
  // has one of that name already, which stays as it is.
  template <typename Job>
  __attribute__((visibility("hidden"))) bool add(std::string_view name, std::string_view cron, const Job& job,
                                                 const PeriodicOptions& options = {}) {
    return put(name, detail::periodic_line(name, cron, job, options), false);
  }
  // Adds a periodic job, or replaces the one of that name in Redis.  Returns true if there was one.  If rule or zone
  // change, the new ticks begin with the call, and no job of the former rule is pushed after it.
  template <typename Job>
  __attribute__((visibility("hidden"))) bool replace(std::string_view name, std::string_view cron, const Job& job,
                                                     const PeriodicOptions& options = {}) {
    return put(name, detail::periodic_line(name, cron, job, options), true);
  }
  // Removes a periodic job that was added.  No job of it is pushed after the call.  Returns false if there is none of
  // that name.
  bool remove(std::string_view name);

  std::vector<PeriodicJob> list();                         // by name; also those of the configuration and of libraries
  std::optional<PeriodicJob> find(std::string_view name);  // nullopt: there is none

  // Returns the next ticks of a rule after a time, at most `count`; fewer if the rule has no more.  It does not ask
  // Redis.
  static std::vector<PeriodicTick> next(std::string_view cron, std::string_view tz = "UTC", std::size_t count = 5,
                                        std::chrono::system_clock::time_point after = std::chrono::system_clock::now());

 private:
  friend class Api;
  friend struct detail::PeriodicRules;
  explicit Periodic(std::shared_ptr<detail::ApiShards> shards);
  bool put(std::string_view name, std::string_view rule, bool replaces);
  std::shared_ptr<detail::ApiShards> shards_;
};

}  // namespace brood
