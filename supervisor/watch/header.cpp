#include <fmt/format.h>

#include <algorithm>

#include "supervisor/version.hpp"
#include "supervisor/watch/figures.hpp"
#include "supervisor/watch/layout.hpp"
#include "supervisor/watch/line.hpp"

namespace brood::watch {
namespace {

constexpr std::size_t totals_width = 34, least_sparkline = 8;

std::string away_text(const Scene& scene) {
  const double seconds = epoch_seconds(scene.now) - epoch_seconds(*scene.model.away_since());
  return fmt::format("no answer since {}, {}", clock_text(*scene.model.away_since()),
                     duration_text_of(std::max(1.0, seconds)));
}

Line redis_state(const Scene& scene, bool is_wide) {
  const Model& model = scene.model;
  if (model.away_since()) return {{away_text(scene), Look::bad}};
  if (!model.redis()) return {{"asking", Look::dim}};
  const std::string& away = model.shards_away();
  Line line = {away.empty() ? Span{"answers", Look::good} : Span{"away: " + clean(away, scene.glyphs), Look::bad}};
  if (!is_wide) return line;
  const std::size_t processes = model.redis()->processes.size();
  if (away.empty())
    line.push_back({fmt::format(" in {:.1f}ms", static_cast<double>(model.round_trip()->count()) / 1000)});
  line.push_back({fmt::format("  {} {}", processes, processes == 1 ? "process" : "processes")});
  return line;
}

// Cuts the address to make room for the state of Redis.  The reason why Redis is away gets the remaining room.
Line first_line(const Scene& scene, std::size_t columns) {
  constexpr std::size_t least_address = 10, gaps = 6, least_reason = 12;
  const bool is_wide = columns >= 60;
  const Line state = redis_state(scene, is_wide);
  const Line clock = {{clock_text(scene.now)}};
  Line left = {{fmt::format("brood {}", version), Look::bold}};
  const std::size_t taken = width_of(left) + width_of(state) + width_of(clock) + gaps;
  const std::size_t room = std::max(least_address, columns - std::min(columns, taken));
  left.push_back({"  " + (is_wide ? cut(clean(scene.address, scene.glyphs), room, scene.glyphs) : "Redis") + "  "});
  left.insert(left.end(), state.begin(), state.end());
  const std::size_t used = width_of(left) + width_of(clock) + 2;
  if (scene.model.away_since() && columns >= used + least_reason)
    left.push_back({cut(": " + clean(scene.model.error(), scene.glyphs), columns - used, scene.glyphs), Look::bad});
  return justified(std::move(left), clock, columns, scene.glyphs);
}

std::string busy_text(const Scene& scene) {
  const Model::Busy busy = scene.model.busy();
  return fmt::format("{} of {}", busy.busy, busy.all);
}

// Dims figures that may be outdated while Redis is away.
Line totals(const Scene& scene, const char* first_name, std::int64_t RedisStatus::*first, const char* second_name,
            std::int64_t RedisStatus::*second) {
  const RedisStatus* const redis = scene.model.redis();
  const auto figure = [&](std::int64_t RedisStatus::*which) {
    return redis ? count_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, redis->*which))) : std::string("-");
  };
  const Look look = scene.model.away_since() ? Look::dim : Look::plain;
  return {{fmt::format("{:<9} {:>8}  {:<7} {:>6}", first_name, figure(first), second_name, figure(second)), look}};
}

Line rate_line(const char* name, std::optional<double> rate, const Series& series, Look look, const Scene& scene,
               std::size_t columns) {
  Line line = {{fmt::format("{:<10}", name)}, {fmt::format("{:>7}/s ", rate_text(rate)), look}};
  const std::size_t used = width_of(line);
  if (columns >= used + least_sparkline) line.push_back({series.sparkline(columns - used, scene.glyphs), look});
  return line;
}

Line busy_line(const Scene& scene, std::size_t columns) {
  const Model::Busy busy = scene.model.busy();
  Line line = {{fmt::format("{:<10}", "busy")}, {fmt::format("{:>9} ", busy_text(scene)), Look::bold}};
  const std::size_t used = width_of(line);
  if (columns >= used + least_sparkline)
    line.push_back({bar(busy.busy, busy.all, columns - used, scene.glyphs), Look::good});
  return line;
}

std::string source_text(const Scene& scene) {
  if (scene.model.source() == Model::Source::machine) return "rates: this machine, now";
  return scene.model.redis() ? "rates: Redis, every 10 s" : "rates: no workers here";
}

std::vector<Line> whole(const Scene& scene, std::size_t columns) {
  const Model& model = scene.model;
  const bool has_totals = columns >= totals_width + 26;
  const std::size_t left = has_totals ? columns - totals_width - 2 : columns;
  const std::optional<double> failed = model.failed_per_second();
  std::vector<Line> lines = {
      rate_line("processed", model.processed_per_second(), model.processed(), Look::good, scene, left),
      rate_line("failed", failed, model.failed(), failed.value_or(0) > 0 ? Look::bad : Look::dim, scene, left),
      busy_line(scene, left)};
  if (!has_totals) return lines;
  const std::vector<Line> right = {totals(scene, "enqueued", &RedisStatus::enqueued, "retries", &RedisStatus::retries),
                                   totals(scene, "scheduled", &RedisStatus::scheduled, "dead", &RedisStatus::dead),
                                   {{source_text(scene), Look::dim}}};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i] = padded(std::move(lines[i]), left + 2, scene.glyphs);
    lines[i].insert(lines[i].end(), right[i].begin(), right[i].end());
  }
  return lines;
}

}  // namespace

std::size_t header_rows(Size size) { return size.rows >= 16 ? 4 : size.rows >= 8 ? 2 : size.rows >= 4 ? 1 : 0; }

std::vector<Line> header(const Scene& scene, Size size) {
  std::vector<Line> lines = {first_line(scene, size.columns)};
  if (header_rows(size) == 4) {
    for (Line& line : whole(scene, size.columns)) lines.push_back(std::move(line));
  } else {
    lines.push_back({{fmt::format("{}/s  {} failed/s  {} busy", rate_text(scene.model.processed_per_second()),
                                  rate_text(scene.model.failed_per_second()), busy_text(scene))}});
  }
  lines.resize(header_rows(size));
  return lines;
}

}  // namespace brood::watch
