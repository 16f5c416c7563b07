#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/config/statsd_settings.hpp"
#include "shared/scoreboard/class_usage.hpp"

namespace brood {

// A datagram of this size fits on every network.
inline constexpr std::size_t longest_datagram = 1'432;

// The tags of a count; an empty one is left out.
struct StatsdTags {
  std::string_view job_class = {}, queue = {}, error_type = {};
};

// Collects lines for a StatsD server, with the names of Sidekiq Pro's documents, until they are taken as datagrams.
// Counts with the same name and tags become one line.  Pure.
class StatsdLines {
 public:
  explicit StatsdLines(const StatsdSettings& settings);

  void count(std::string_view name, std::uint64_t times, const StatsdTags& tags = {});
  // A run that has ended: jobs.count, and jobs.success with its time or jobs.failure.
  void add_run(bool failed, std::uint64_t ms, const StatsdTags& tags);

  bool empty() const;
  // All that was added, in datagrams of whole lines; none of it is left.
  std::vector<std::string> take();

 private:
  // The runs of one class and queue.  They are many if jobs are short, so their tags are spelled only once.
  struct Series {
    std::string job_class, queue, tags;
    std::uint64_t failed = 0;
    std::vector<std::uint64_t> ms = {};  // of each run that ended well
  };

  std::string spelled(const StatsdTags& tags) const;
  Series& series_of(const StatsdTags& tags);

  const std::string prefix_;
  const bool has_tags_;
  std::string standing_tags_;
  std::vector<std::pair<std::string, std::uint64_t>> counts_;  // by the name and, behind a newline, the tags
  std::vector<Series> runs_;
};

// The name of a class or a queue for StatsD: "others" if it has no entry of its own, so that no name that a client
// makes up becomes a series without end.
std::string statsd_class(const UsageTable& table, int class_index);
std::string statsd_queue(const UsageTable& table, int queue_index);

}  // namespace brood
