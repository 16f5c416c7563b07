#include "shared/store/report/metrics.hpp"

#include <algorithm>
#include <string>

#include "shared/job/page_text.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/report/metric_keys.hpp"
#include "shared/store/utc.hpp"

namespace brood {
namespace {

constexpr const char* seconds_of_minutes = "28800";       // as Sidekiq keeps them
constexpr const char* seconds_of_ten_minutes = "259200";  // likewise
constexpr const char* seconds_of_usage = "2592000";       // 30 days

void add_arguments(std::vector<std::string>& args, const std::string& name, const ClassUsage& of_class) {
  const auto& histogram = of_class.histogram;
  const auto buckets =
      static_cast<std::size_t>(std::count_if(histogram.begin(), histogram.end(), [](auto n) { return n > 0; }));
  args.push_back(name);
  args.push_back(std::to_string(of_class.runs));
  args.push_back(std::to_string(of_class.failed + of_class.crashed));
  args.push_back(std::to_string(of_class.crashed));
  args.push_back(buckets > 0 || of_class.ms > 0 ? std::to_string(of_class.ms) : "");
  for (const std::uint64_t used : {of_class.cpu_us, of_class.wall_us, of_class.peak_rss_kb})
    args.push_back(std::to_string(used));
  args.push_back(std::to_string(buckets));
  for (std::size_t i = 0; i < histogram.size(); ++i) {
    if (histogram[i] == 0) continue;
    args.push_back(std::to_string(i));
    args.push_back(std::to_string(histogram[i]));
  }
}

}  // namespace

ScriptCall count_runs(const std::vector<ClassUsage>& classes, WallTime now) {
  ScriptCall call{&scripts::count_runs,
                  {keys::metrics_of_minute_in_7(now), keys::metrics_of_ten_minutes(now), keys::metrics_of_minute(now),
                   keys::brood_usage(Utc(now).date('-'))},
                  {seconds_of_minutes, seconds_of_ten_minutes, seconds_of_usage}};
  for (const ClassUsage& of_class : classes) {
    const std::string name = page_name(of_class.job_class);
    call.keys.push_back(keys::histogram_of_minute_in_7(name, now));
    call.keys.push_back(keys::histogram_of_minute(name, now));
    add_arguments(call.args, name, of_class);
  }
  return call;
}

}  // namespace brood
