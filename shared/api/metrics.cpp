#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/store/report/class_runs.hpp"

namespace brood {
namespace {

using std::chrono::minutes;

constexpr minutes longest_overview = std::chrono::hours(72);
constexpr minutes longest_of_class = std::chrono::hours(8);

minutes checked(minutes length, minutes longest) {
  if (length < minutes(1) || length > longest)
    throw std::invalid_argument("metrics are of 1 to " + std::to_string(longest.count()) + " minutes");
  return length;
}

}  // namespace

const std::vector<std::uint32_t>& histogram_bounds_ms() {
  static const std::vector<std::uint32_t> bounds{20,    30,    45,    65,     100,    150,    225,   335,   500,
                                                 750,   1100,  1700,  2500,   3800,   5750,   8500,  13000, 20000,
                                                 30000, 45000, 65000, 100000, 150000, 225000, 335000};
  return bounds;
}

double ClassMetrics::average_seconds() const {
  return processed > failed ? static_cast<double>(milliseconds) / 1000 / static_cast<double>(processed - failed) : 0;
}

std::vector<ClassMetrics> Api::top_classes(minutes length) {
  checked(length, longest_overview);
  const std::vector<Command> commands = ask_runs_of_all(wall_now(), length);
  std::map<std::string, ClassMetrics> all;
  shards_->each([&](detail::ApiState& shard) {
    const std::vector<Reply> replies =
        shard.converse([&](ClientConnection& redis) { return redis.pipeline(commands); });
    for (const auto& [name, runs] : read_runs_of_all(replies)) {
      ClassMetrics& sum = all.try_emplace(name, ClassMetrics{name}).first->second;
      sum.processed += runs.processed;
      sum.failed += runs.failed;
      sum.milliseconds += runs.milliseconds;
    }
  });
  std::vector<ClassMetrics> top;
  for (auto& [name, runs] : all) top.push_back(std::move(runs));
  std::stable_sort(top.begin(), top.end(),
                   [](const ClassMetrics& a, const ClassMetrics& b) { return a.milliseconds > b.milliseconds; });
  return top;
}

std::vector<MinuteMetrics> Api::metrics_of(std::string_view job_class, minutes length) {
  checked(length, longest_of_class);
  const auto last = std::chrono::floor<minutes>(wall_now());
  std::vector<WallTime> asked;
  for (minutes back = length - minutes(1); back >= minutes(0); --back) asked.push_back(last - back);
  const std::vector<Command> commands = ask_runs_by_minute(job_class, asked);
  std::vector<MinuteMetrics> all;
  for (const WallTime minute : asked) all.emplace_back().minute = to_time(minute);
  shards_->each([&](detail::ApiState& shard) {
    const std::vector<RunsOfMinute> runs =
        read_runs_by_minute(shard.converse([&](ClientConnection& redis) { return redis.pipeline(commands); }));
    for (std::size_t i = 0; i < asked.size(); ++i) {
      all[i].processed += runs[i].processed;
      all[i].failed += runs[i].failed;
      all[i].milliseconds += runs[i].milliseconds;
      all[i].histogram.resize(std::max(all[i].histogram.size(), runs[i].histogram.size()));
      for (std::size_t bucket = 0; bucket < runs[i].histogram.size(); ++bucket)
        all[i].histogram[bucket] += runs[i].histogram[bucket];
    }
  });
  return all;
}

}  // namespace brood
