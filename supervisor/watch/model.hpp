#pragma once

#include <map>
#include <optional>
#include <string>

#include "supervisor/watch/rate.hpp"
#include "supervisor/watch/sample.hpp"

namespace brood::watch {

// The results of the looks so far, and figures that need several looks, such as rates.
class Model {
 public:
  explicit Model(std::size_t looks_in_a_bar = 1);  // of the series

  void note(const MachineLook& look);
  void note(const RedisLook& look);

  const MachineStatus& machine() const { return machine_.status; }
  const ProcessUse* use_of(std::int64_t pid) const;           // nullptr if it cannot be read
  std::optional<double> cpu_percent(std::int64_t pid) const;  // percent of one processor, since the last look

  // Redis' last answer; nullptr if it has never answered.  The answer may be old: see away_since().
  const RedisStatus* redis() const { return redis_ ? &*redis_ : nullptr; }
  std::optional<WallTime> away_since() const { return away_since_; }  // nullopt: it answers, or was not asked yet
  const std::string& error() const { return error_; }
  const std::string& shards_away() const { return shards_away_; }  // their names; empty if all answer, or none does
  std::optional<std::chrono::microseconds> round_trip() const { return round_trip_; }
  std::optional<double> queue_change(const std::string& queue) const;  // jobs per second

  // The source of the rates: the scoreboards of this machine, which are exact and current, or else the counters in
  // Redis, to which each process adds every ten seconds.
  enum class Source { machine, redis };
  Source source() const;
  std::optional<double> processed_per_second() const;
  std::optional<double> failed_per_second() const;
  const Series& processed() const;
  const Series& failed() const;

  struct Busy {
    std::uint64_t busy = 0, all = 0;
  };
  Busy busy() const;  // from the same source

 private:
  struct Rates {
    Rates(SteadyTime::duration window, std::size_t in_a_bar)
        : processed(window), failed(window), processed_series(in_a_bar), failed_series(in_a_bar) {}
    void note(SteadyTime at, std::uint64_t processed_now, std::uint64_t failed_now);
    Rate processed, failed;
    Series processed_series, failed_series;
  };
  const Rates& rates() const { return source() == Source::machine ? machine_rates_ : redis_rates_; }

  MachineLook machine_, machine_before_;
  std::map<std::string, JobCounters> counters_;  // of each supervisor, at the last look
  JobCounters counted_;                          // the sum of their growth since the first look
  Rates machine_rates_;

  std::optional<RedisStatus> redis_;
  std::optional<WallTime> away_since_;
  std::string error_, shards_away_;
  std::optional<std::chrono::microseconds> round_trip_;
  Rates redis_rates_;
  std::map<std::string, Trend> queues_;
};

}  // namespace brood::watch
