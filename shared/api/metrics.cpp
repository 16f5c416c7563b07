#include <algorithm>
#include <stdexcept>

#include "shared/api/api_state.hpp"
#include "shared/api/readings.hpp"
#include "shared/store/report/metric_keys.hpp"

namespace brood {
namespace {

using std::chrono::minutes;

constexpr minutes longest_overview = std::chrono::hours(72);
constexpr minutes longest_of_class = std::chrono::hours(8);
constexpr minutes finest_overview = std::chrono::hours(1);  // in a longer one, a key covers ten minutes

minutes checked(minutes length, minutes longest) {
  if (length < minutes(1) || length > longest)
    throw std::invalid_argument("metrics are of 1 to " + std::to_string(longest.count()) + " minutes");
  return length;
}

// Reads a field "<Class>|p"; a class may hold a "|" too.
void add_field(std::map<std::string, ClassMetrics>& classes, std::string_view field, std::uint64_t value) {
  const std::size_t bar = field.rfind('|');
  if (bar == field.npos) return;
  const std::string name(field.substr(0, bar));
  const std::string_view kind = field.substr(bar + 1);
  if (kind != "p" && kind != "f" && kind != "ms") return;
  ClassMetrics& metrics = classes[name];
  (kind == "p" ? metrics.processed : kind == "f" ? metrics.failed : metrics.milliseconds) += value;
}

Command ask_histogram(const std::string& key) {
  Command command{"BITFIELD_RO", key};
  for (std::size_t i = 0; i <= histogram_bounds_ms().size(); ++i)
    command.add("GET").add("u16").add("#" + std::to_string(i));
  return command;
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
  const bool fine = length <= finest_overview;
  const minutes step = fine ? minutes(1) : minutes(10);
  const WallTime now = wall_now();
  std::vector<Command> commands;
  for (minutes back{0}; back < length; back += step)
    commands.push_back(
        {"HGETALL", fine ? keys::metrics_of_minute(now - back) : keys::metrics_of_ten_minutes(now - back)});

  std::map<std::string, ClassMetrics> classes;
  for (const Reply& reply : state_->converse([&](ClientConnection& redis) { return redis.pipeline(commands); })) {
    const ReplyView hash = reply.view();
    for (std::size_t i = 0; hash.is_array() && i + 1 < hash.size(); i += 2)
      add_field(classes, hash[i].text(), lenient_number<std::uint64_t>(hash[i + 1]));
  }
  std::vector<ClassMetrics> top;
  for (auto& [name, metrics] : classes) {
    metrics.job_class = name;
    top.push_back(std::move(metrics));
  }
  std::stable_sort(top.begin(), top.end(),
                   [](const ClassMetrics& a, const ClassMetrics& b) { return a.milliseconds > b.milliseconds; });
  return top;
}

std::vector<MinuteMetrics> Api::metrics_of(std::string_view job_class, minutes length) {
  checked(length, longest_of_class);
  const std::string name(job_class);
  const auto last = std::chrono::floor<minutes>(wall_now());
  std::vector<MinuteMetrics> all;
  std::vector<Command> commands;
  for (minutes back = length - minutes(1); back >= minutes(0); --back) {
    const WallTime minute = last - back;
    MinuteMetrics metrics;
    metrics.minute = to_time(minute);
    all.push_back(std::move(metrics));
    commands.push_back({"HMGET", keys::metrics_of_minute(minute), name + "|p", name + "|f", name + "|ms"});
    commands.push_back(ask_histogram(keys::histogram_of_minute(name, minute)));
  }
  const std::vector<Reply> replies =
      state_->converse([&](ClientConnection& redis) { return redis.pipeline(commands); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const ReplyView counts = replies[2 * i].view(); counts.is_array() && counts.size() == 3) {
      all[i].processed = lenient_number<std::uint64_t>(counts[0]);
      all[i].failed = lenient_number<std::uint64_t>(counts[1]);
      all[i].milliseconds = lenient_number<std::uint64_t>(counts[2]);
    }
    all[i].histogram.assign(histogram_bounds_ms().size() + 1, 0);
    const ReplyView buckets = replies[2 * i + 1].view();
    for (std::size_t bucket = 0; buckets.is_array() && bucket < buckets.size() && bucket < all[i].histogram.size();
         ++bucket)
      all[i].histogram[bucket] = lenient_number<std::uint32_t>(buckets[bucket]);
  }
  return all;
}

}  // namespace brood
