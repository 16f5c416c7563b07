#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/iteration.hpp"
#include "shared/store/limits/take_limits.hpp"

namespace brood {

// Longer timeouts are cut to this, so that they do not overflow a clock.
inline constexpr std::chrono::milliseconds longest_timeout = std::chrono::hours(24 * 365);

// The worker's services to an iterable job.
struct IterationHost {
  std::chrono::milliseconds max_runtime{0};  // 0: no limit
  std::function<bool()> interrupt = {};      // true: end this run, another worker goes on
  // nullopt: the worker leaves before Redis has answered.  Throws UnexpectedReply.
  std::function<std::optional<IterationState>()> load = {};
  std::function<bool(const IterationState&)> save = {};  // true: the job was cancelled
  std::function<void()> end = {};                        // the job is done
};

// The answer to a request for limits.
struct LimitResult {
  enum class Kind : std::uint8_t {
    taken,
    over,     // not free within the time that the job gave
    away,     // Redis is away, and the worker must stop
    refused,  // it is no valid limit, or Redis does not keep it
  } kind = Kind::taken;
  std::size_t which = 0;  // the index in the request of the limit that is not free
  std::string why = {};   // when refused
};

// The worker's services to a job with limits.
struct LimitHost {
  std::function<LimitResult(const std::vector<Limit>&, std::chrono::milliseconds wait)> take = {};
  std::function<void(const std::vector<LimitUse>&)> give_back = {};
};

// The worker's services to a running job.
struct JobHost {
  std::function<bool()> stopping = {};
  std::function<std::optional<std::chrono::milliseconds>()> time_left = {};  // nullopt: no deadline
  std::function<void(std::chrono::milliseconds)> set_time_left = {};
  std::string capsule = {};
  std::optional<IterationHost> iterations = {};  // nullopt: no states are kept
  std::optional<LimitHost> limits = {};          // nullopt: no limits are kept
  std::function<std::optional<std::string>(std::string_view bid, std::string_view step)> result_of = {};
  std::function<bool(std::string_view bid)> batch_cancelled = {};  // empty: not known
  std::function<void(std::string_view)> say = {};                  // what the job logs; empty: into this process's log
  // Adds a fact to the job's lines in the log; empty: it is dropped.
  std::function<void(std::string_view name, std::string_view value)> log_with = {};
  std::function<void(std::string)> keep_result = {};           // one JSON value; empty: it is not kept
  std::function<void(const JobProgress&)> note_progress = {};  // empty: it is not shown
  // How long the run under way may take, for messages; nullopt: the time_left() at its beginning.
  std::optional<std::chrono::milliseconds> timeout = {};
  // The run's span if it is exported, for programs; empty: it is not.
  std::string traceparent = {}, tracestate = {};
};

}  // namespace brood
