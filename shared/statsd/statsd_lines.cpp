#include "shared/statsd/statsd_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace brood {
namespace {

constexpr std::size_t longest_tag_value = 200;

// Names in payloads may hold anything.
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

}  // namespace

StatsdLines::StatsdLines(const StatsdSettings& settings) : prefix_(settings.prefix), has_tags_(settings.has_tags) {
  for (const std::string& tag : settings.tags) standing_tags_ += (standing_tags_.empty() ? "" : ",") + tag;
}

std::string StatsdLines::words_of(const StatsdTags& tags) const {
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
  std::string what = fmt::format("{}{}\n{}", prefix_, name, words_of(tags));
  const auto known = std::find_if(counts_.begin(), counts_.end(), [&](const auto& one) { return one.first == what; });
  if (known != counts_.end())
    known->second += times;
  else
    counts_.emplace_back(std::move(what), times);
}

// The times of failures say nothing: the documents send none since release 8.
void StatsdLines::add_run(bool failed, std::uint64_t ms, const StatsdTags& tags) {
  const StatsdTags without_error{tags.job_class, tags.queue, {}};
  count("jobs.count", 1, without_error);
  if (failed) return count("jobs.failure", 1, tags);
  count("jobs.success", 1, without_error);
  const std::string words = words_of(without_error);
  times_.push_back(fmt::format("{}jobs.perform:{}|ms{}", prefix_, ms, words));
  if (has_tags_) times_.push_back(fmt::format("{}jobs.perform_dist:{}|d{}", prefix_, ms, words));
}

std::vector<std::string> StatsdLines::take() {
  std::vector<std::string> datagrams;
  const auto add = [&](const std::string& line) {
    if (datagrams.empty() || datagrams.back().size() + 1 + line.size() > longest_datagram)
      datagrams.push_back(line);
    else
      datagrams.back() += "\n" + line;
  };
  for (const auto& [what, times] : counts_) {
    const std::size_t end = what.find('\n');
    add(fmt::format("{}:{}|c{}", what.substr(0, end), times, what.substr(end + 1)));
  }
  for (const std::string& line : times_) add(line);
  counts_.clear();
  times_.clear();
  return datagrams;
}

}  // namespace brood
