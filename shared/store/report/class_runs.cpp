#include "shared/store/report/class_runs.hpp"

#include "shared/base/histogram.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/report/metric_keys.hpp"

namespace brood {
namespace {

using std::chrono::minutes;

constexpr minutes longest_to_the_minute = std::chrono::hours(1);
constexpr std::size_t commands_of_a_minute = 2;

// Reads a field "<Class>|p"; a class may hold a "|" too.
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

}  // namespace brood
