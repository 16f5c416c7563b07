#include "shared/statsd/statsd_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "shared/scoreboard/queue_usage.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_tag_value = 200;

// A name as the value of a tag.  Names come from payloads, and may contain any character.
std::string tag_value(std::string_view text) {
  std::string value(text.substr(0, longest_tag_value));
  std::replace_if(
      value.begin(), value.end(),
      [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
               std::string_view(",|#").find(c) != std::string_view::npos;
      },
      '_');
  return value;
}

constexpr std::string_view counter = "|c";
constexpr std::size_t most_series_kept = 16;

struct Line {
  std::string_view prefix, name;
  std::uint64_t value;
  std::string_view type, tags;
};

struct Datagrams {
  std::vector<std::string> all;

  void add(const Line& line) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), line.value).ptr;
    const std::string_view value(digits.data(), static_cast<std::size_t>(end - digits.data()));
    const std::size_t size =
        line.prefix.size() + line.name.size() + 1 + value.size() + line.type.size() + line.tags.size();
    if (all.empty() || all.back().size() + 1 + size > longest_datagram)
      all.emplace_back().reserve(longest_datagram);
    else
      all.back() += '\n';
    ((((all.back() += line.prefix) += line.name) += ':') += value) += line.type;
    all.back() += line.tags;
  }
};

}  // namespace

StatsdLines::StatsdLines(const StatsdSettings& settings) : prefix_(settings.prefix), has_tags_(settings.has_tags) {
  for (const std::string& tag : settings.tags) standing_tags_ += (standing_tags_.empty() ? "" : ",") + tag;
}

std::string StatsdLines::spelled(const StatsdTags& tags) const {
  if (!has_tags_) return "";
  std::string words;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) words += fmt::format("{}{}:{}", words.empty() ? "|#" : ",", name, tag_value(value));
  };
  add("worker", tags.job_class);
  add("queue", tags.queue);
  add("error_type", tags.error_type);
  if (!standing_tags_.empty()) words += (words.empty() ? "|#" : ",") + standing_tags_;
  return words;
}

void StatsdLines::count(std::string_view name, std::uint64_t times, const StatsdTags& tags) {
  if (times == 0) return;
  std::string what = fmt::format("{}{}\n{}", prefix_, name, spelled(tags));
  const auto known = std::find_if(counts_.begin(), counts_.end(), [&](const auto& one) { return one.first == what; });
  if (known != counts_.end())
    known->second += times;
  else
    counts_.emplace_back(std::move(what), times);
}

StatsdLines::Series& StatsdLines::series_of(const StatsdTags& tags) {
  const StatsdTags of = has_tags_ ? StatsdTags{tags.job_class, tags.queue, {}} : StatsdTags{};
  for (Series& one : runs_) {
    if (one.job_class == of.job_class && one.queue == of.queue) return one;
  }
  return runs_.emplace_back(Series{std::string(of.job_class), std::string(of.queue), spelled(of)});
}

// Times of failures are not sent, as in the documents since release 8.
void StatsdLines::add_run(bool failed, std::uint64_t ms, const StatsdTags& tags) {
  Series& series = series_of(tags);
  if (!failed) return series.ms.push_back(ms);
  ++series.failed;
  count("jobs.failure", 1, tags);
}

bool StatsdLines::empty() const {
  return counts_.empty() &&
         std::all_of(runs_.begin(), runs_.end(), [](const Series& one) { return one.failed == 0 && one.ms.empty(); });
}

std::vector<std::string> StatsdLines::take() {
  Datagrams datagrams;
  const auto add = [&](std::string_view name, std::uint64_t value, std::string_view type, std::string_view tags) {
    if (value == 0 && type == counter) return;  // nothing has happened
    datagrams.add({prefix_, name, value, type, tags});
  };
  for (const Series& one : runs_) {
    add("jobs.count", one.failed + one.ms.size(), counter, one.tags);
    add("jobs.success", one.ms.size(), counter, one.tags);
  }
  for (const auto& [what, times] : counts_) {
    const std::string_view name(what.data(), what.find('\n'));
    datagrams.add({"", name, times, counter, std::string_view(what).substr(name.size() + 1)});
  }
  for (const Series& one : runs_) {
    for (const std::uint64_t ms : one.ms) {
      add("jobs.perform", ms, "|ms", one.tags);
      if (has_tags_) add("jobs.perform_dist", ms, "|d", one.tags);
    }
  }
  counts_.clear();
  if (runs_.size() > most_series_kept) runs_.clear();
  for (Series& one : runs_) {
    one.failed = 0;
    one.ms.clear();
  }
  return std::move(datagrams.all);
}

namespace {

std::string or_others(const std::string& name) { return name.empty() ? "others" : name; }

}  // namespace

std::string statsd_class(const UsageTable& table, int class_index) { return or_others(class_at(table, class_index)); }
std::string statsd_queue(const UsageTable& table, int queue_index) {
  return or_others(queue_at(table.queues, queue_index));
}

}  // namespace brood
