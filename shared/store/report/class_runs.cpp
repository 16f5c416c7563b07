#include "shared/store/report/class_runs.hpp"

#include <algorithm>
#include <string>

#include "shared/base/histogram.hpp"
#include "shared/job/page_text.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/redis_time.hpp"
#include "shared/store/report/metric_keys.hpp"

namespace brood {
namespace {

using std::chrono::minutes;

constexpr minutes longest_to_the_minute = std::chrono::hours(1);
constexpr std::size_t commands_of_a_minute = 2;

// Reads a field "<Class>|p"; the class may contain a "|" too.
void add_field(std::map<std::string, ClassRuns>& classes, std::string_view field, std::uint64_t value) {
  const std::size_t bar = field.rfind('|');
  if (bar == field.npos) return;
  const std::string_view kind = field.substr(bar + 1);
  if (kind != "p" && kind != "f" && kind != "ms") return;
  ClassRuns& runs = classes[std::string(field.substr(0, bar))];
  (kind == "p" ? runs.processed : kind == "f" ? runs.failed : runs.milliseconds) += value;
}

Command ask_histogram(const RedisKey& key) {
  Command command{"BITFIELD_RO", key};
  for (std::size_t i = 0; i < histogram_buckets; ++i) command.add("GET").add("u16").add("#" + std::to_string(i));
  return command;
}

RunsOfMinute read_minute(ReplyView counts, ReplyView buckets) {
  RunsOfMinute runs;
  if (counts.is_array() && counts.size() == 3) {
    runs.processed = lenient_number<std::uint64_t>(counts[0]);
    runs.failed = lenient_number<std::uint64_t>(counts[1]);
    runs.milliseconds = lenient_number<std::uint64_t>(counts[2]);
  }
  runs.histogram.assign(histogram_buckets, 0);
  for (std::size_t i = 0; buckets.is_array() && i < buckets.size() && i < histogram_buckets; ++i)
    runs.histogram[i] = lenient_number<std::uint32_t>(buckets[i]);
  return runs;
}

}  // namespace

std::vector<Command> ask_runs_of_all(WallTime now, minutes length) {
  const bool fine = length <= longest_to_the_minute;
  const minutes step = fine ? minutes(1) : minutes(10);
  std::vector<Command> commands;
  for (minutes back{0}; back < length; back += step)
    commands.push_back(
        {"HGETALL", fine ? keys::metrics_of_minute(now - back) : keys::metrics_of_ten_minutes(now - back)});
  return commands;
}

std::map<std::string, ClassRuns> read_runs_of_all(std::span<const Reply> replies) {
  std::map<std::string, ClassRuns> classes;
  for (const Reply& reply : replies) {
    const ReplyView hash = reply.view();
    for (std::size_t i = 0; hash.is_array() && i + 1 < hash.size(); i += 2)
      add_field(classes, hash[i].text(), lenient_number<std::uint64_t>(hash[i + 1]));
  }
  return classes;
}

std::vector<Command> ask_runs_by_minute(std::string_view job_class, const std::vector<WallTime>& minutes) {
  const std::string name(job_class);
  std::vector<Command> commands;
  for (const WallTime minute : minutes) {
    commands.push_back({"HMGET", keys::metrics_of_minute(minute), name + "|p", name + "|f", name + "|ms"});
    commands.push_back(ask_histogram(keys::histogram_of_minute(name, minute)));
  }
  return commands;
}

std::vector<RunsOfMinute> read_runs_by_minute(std::span<const Reply> replies) {
  std::vector<RunsOfMinute> all;
  for (std::size_t i = 0; i + 1 < replies.size(); i += commands_of_a_minute)
    all.push_back(read_minute(replies[i].view(), replies[i + 1].view()));
  return all;
}

namespace {

constexpr const char* seconds_of_minutes = "28800";       // as Sidekiq keeps them
constexpr const char* seconds_of_ten_minutes = "259200";  // as Sidekiq keeps them
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

namespace {

constexpr std::string_view seconds_to_live = "90";

}  // namespace

MetricsTeller take_turn_to_tell(Channel& redis, std::string_view name, bool may_not_take) {
  const Reply held = redis.call({"GET", keys::brood_metrics_teller});
  if (held.view().is_string()) {
    if (held.view().text() != name) return MetricsTeller::another;
    // If it has just expired and another host has taken it, that host has it a little longer.
    redis.call({"EXPIRE", keys::brood_metrics_teller, seconds_to_live});
    return MetricsTeller::we;
  }
  if (!held.view().is_nil() || may_not_take) return MetricsTeller::unknown;
  const Reply taken = redis.call({"SET", keys::brood_metrics_teller, name, "NX", "EX", seconds_to_live});
  if (taken.view().is_error()) return MetricsTeller::unknown;
  return taken.view().is_nil() ? MetricsTeller::another : MetricsTeller::we;
}

}  // namespace brood
