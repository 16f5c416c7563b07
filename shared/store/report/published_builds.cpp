#include "shared/store/report/published_builds.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/script.hpp"

namespace brood {

namespace scripts {
extern const Script publish_classes;
}

namespace {

constexpr std::chrono::seconds gone_after = 3 * between_publications;
constexpr std::string_view kept_for = "604800", most_gone_builds = "4";
constexpr std::size_t most_builds = 64, longest_build_name = 64, longest_document = 1 << 20;

// "<since> <seen>".
bool read_times(std::string_view text, SeenBuild& build) {
  const char* const end = text.data() + text.size();
  const auto since = std::from_chars(text.data(), end, build.since);
  if (since.ec != std::errc() || since.ptr == end || *since.ptr != ' ') return false;
  const auto seen = std::from_chars(since.ptr + 1, end, build.seen);
  return seen.ec == std::errc() && seen.ptr == end && build.since >= 0 && build.seen >= 0;
}

}  // namespace

ScriptCall publish_classes(std::string_view build, std::string_view document) {
  return {&scripts::publish_classes,
          {keys::brood_classes, keys::brood_classes_seen},
          {std::string(build), std::string(document), std::to_string(gone_after.count()), std::string(kept_for),
           std::string(most_gone_builds)}};
}

bool read_was_published(ReplyView reply) { return reply.integer() == 1; }

bool is_before(const SeenBuild& a, const SeenBuild& b) {
  if (a.runs != b.runs) return a.runs;
  return a.runs ? std::tie(a.since, a.build) > std::tie(b.since, b.build)
                : std::tie(a.seen, a.build) > std::tie(b.seen, b.build);
}

Command ask_seen_builds() { return {"HGETALL", keys::brood_classes_seen}; }

std::vector<SeenBuild> read_seen_builds(ReplyView reply, std::int64_t now) {
  std::vector<SeenBuild> builds;
  if (!reply.is_array()) return builds;
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
    SeenBuild build{.build = lenient_text(reply[i])};
    if (build.build.empty() || build.build.size() > longest_build_name) continue;
    if (!read_times(lenient_text(reply[i + 1]), build)) continue;
    // A time in the future was written by another program, or before the clock was set back.
    build.runs = std::abs(now - build.seen) <= gone_after.count();
    build.seen = std::min(build.seen, now);
    build.since = std::min(build.since, build.seen);
    builds.push_back(std::move(build));
  }
  std::ranges::sort(builds, is_before);
  if (builds.size() > most_builds) builds.resize(most_builds);
  return builds;
}

Command ask_documents(const std::vector<std::string>& builds) {
  Command command{"HMGET", keys::brood_classes};
  for (const std::string& build : builds) command.add(build);
  return command;
}

std::vector<std::string> read_documents(ReplyView reply) {
  std::vector<std::string> documents;
  for (std::size_t i = 0; reply.is_array() && i < reply.size(); ++i) {
    std::string document = lenient_text(reply[i]);
    documents.push_back(document.size() <= longest_document ? std::move(document) : std::string());
  }
  return documents;
}

}  // namespace brood
